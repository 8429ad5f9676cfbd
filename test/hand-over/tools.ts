/** The tools of the servers under test. Those that wait are let go by `tasks.complete(id, 'go')`. */
import { existsSync, readFileSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import {
  type DurableTool,
  durableTool,
  type FormAnswer,
  ProtocolError,
  type TaskSetting,
} from '../../src/index.ts';

const Name = z.object({ name: z.string().min(1) });
const question = { message: 'What is your name?', schema: Name };

/** Two minutes of work, unless told otherwise, and a question in the middle. */
const report = durableTool(
  'report',
  {
    description: 'Writes a report and has it signed.',
    inputSchema: z.object({
      topic: z.string(),
      restMs: z.number().default(60_000),
      trace: z.string().optional(),
    }),
    outputSchema: z.object({ topic: z.string(), signedBy: z.string() }),
  },
  async ({ topic, restMs, trace }, task) => {
    const tell = (line: string) =>
      task.step(line, async () => {
        if (trace !== undefined) await appendFile(trace, `${line}\n`);
      });
    task.progress(1, 3, 'Sources found');
    await tell('searched');
    await task.sleep(restMs);
    const signature = await task.ask('signature', {
      message: `Who signs the report on ${topic}?`,
      schema: Name,
    });
    if (signature.action !== 'accept') throw new Error('Nobody signed.');
    await tell('signed');
    await task.sleep(restMs);
    return {
      content: [{ type: 'text', text: `A report on ${topic}.` }],
      structuredContent: { topic, signedBy: signature.content.name },
    };
  },
);

const Word = z.object({ word: z.string() });
const settings: readonly TaskSetting[] = ['auto', 'always', 'never', 'required'];

/** `held_auto`, `held_always`, …: at the author's word they return what they were called with. */
const held = settings.map((setting) =>
  durableTool(
    `held_${setting}`,
    { task: setting, inputSchema: Word, outputSchema: Word },
    async ({ word }, task) => {
      await task.waitForEvent('go');
      return { word };
    },
  ),
);

const reporting = durableTool('reporting', {}, async (_, task) => {
  task.progress(1, 2, 'Half of it');
  await task.waitForEvent('go');
  return 'all of it';
});

const throwing = durableTool('throwing', {}, async (_, task) => {
  await task.waitForEvent('go');
  throw new Error('The disk is full.');
});

const refusing = durableTool('refusing', {}, async (_, task) => {
  await task.waitForEvent('go');
  throw new ProtocolError(-32099, 'Not on Sundays.', { day: 'Sunday' });
});

const greeting = (answer: FormAnswer<z.infer<typeof Name>>) =>
  answer.action === 'accept' ? `Hello, ${answer.content.name}!` : `You said ${answer.action}.`;

const asking = durableTool('asking', {}, async (_, task) => greeting(await task.ask('name', question)));

/** What a person must decide, and no model. */
const askingPerson = durableTool('asking_person', {}, async (_, task) =>
  greeting(await task.ask('name', question, { person: true })),
);

/** One that comes at once, and work after it. */
const askingEarly = durableTool('asking_early', {}, async (_, task) => {
  const answer = await task.ask('name', question);
  await task.waitForEvent('go');
  return greeting(answer);
});

/** A question that comes only when the call has been handed over. */
const askingLate = durableTool('asking_late', {}, async (_, task) => {
  await task.waitForEvent('go');
  return greeting(await task.ask('name', question));
});

const familyOfAskers = durableTool('family_of_askers', {}, async (_, task) => {
  const children = [await task.start(asking), await task.start(asking)];
  const results = await Promise.all(children.map((child) => child.result()));
  return results.map(({ content }) => content[0]!.text).join(' ');
});

const rhyme = {
  sampling: { messages: [{ role: 'user', content: { type: 'text', text: 'A rhyme?' } }], maxTokens: 10 },
} as const;

const sampling = durableTool('sampling', {}, async (_, task) => {
  const { content } = await task.ask('rhyme', rhyme);
  return (content as { text: string }).text;
});

const samplingLate = durableTool('sampling_late', {}, async (_, task) => {
  await task.waitForEvent('go');
  const { content } = await task.ask('rhyme', rhyme);
  return (content as { text: string }).text;
});

/** A question of each kind. */
const askingEverything = durableTool('asking_everything', {}, async (_, task) => {
  const answers = await Promise.all([
    task.ask('form', question),
    task.ask('page', { message: 'Please sign in.', url: 'https://example.com/sign-in' }),
    task.ask('model', rhyme),
    task.ask('folders', { roots: true }),
  ]);
  return JSON.stringify(answers);
});

/**
 * A line for each step in a file, and a question in the middle if it is to ask. The chapter whose number is in the file
 * `lastChapter` does not end while it is there.
 */
const chapters = durableTool(
  'chapters',
  {
    inputSchema: z.object({
      file: z.string(),
      steps: z.number(),
      delayMs: z.number(),
      asks: z.boolean().default(false),
      lastChapter: z.string().optional(),
    }),
    outputSchema: z.object({ steps: z.number(), signedBy: z.string() }),
  },
  async ({ file, steps, delayMs, asks, lastChapter }, task) => {
    const isLast = (step: number) =>
      lastChapter !== undefined && readFileSync(lastChapter, 'utf8') === String(step);
    let signedBy = 'nobody';
    for (let step = 1; step <= steps; step++) {
      await task.step(`chapter ${step}`, async ({ signal }) => {
        await appendFile(file, `${step}\n`);
        do await pause(delayMs, undefined, { signal });
        while (isLast(step));
      });
      task.progress(step, steps, `Wrote chapter ${step}`);
      if (!asks || step !== Math.ceil(steps / 2)) continue;
      const answer = await task.ask('name', question);
      signedBy = answer.action === 'accept' ? answer.content.name : answer.action;
    }
    return { steps, signedBy };
  },
);

/** More than the buffers between a server and its client hold. */
const large = durableTool(
  'large',
  { inputSchema: z.object({ trace: z.string() }) },
  async ({ trace }, task) => {
    await task.step('run', () => appendFile(trace, 'ran\n'));
    return 'x'.repeat(15_000_000);
  },
);

/** An answer of a page, and a line in a file. */
const page = durableTool(
  'page',
  { inputSchema: z.object({ trace: z.string(), number: z.number() }) },
  async ({ trace, number }, task) => {
    await task.step('write', () => appendFile(trace, `${number}\n`));
    return `Page ${number}: ${'x'.repeat(1_500)}`;
  },
);

/** Two steps, and a gate between them. */
const steps = durableTool(
  'steps',
  { inputSchema: z.object({ trace: z.string(), gate: z.string() }) },
  async ({ trace, gate }, task) => {
    await task.step('first', () => appendFile(trace, 'first\n'));
    await task.waitForCondition('gate', () => existsSync(gate), { every: '50ms' });
    await task.step('second', () => appendFile(trace, 'second\n'));
    return 'both';
  },
);

export const handOverTools = [
  report,
  chapters,
  steps,
  large,
  page,
  ...held,
  reporting,
  throwing,
  refusing,
  asking,
  askingPerson,
  askingEarly,
  askingLate,
  familyOfAskers,
  sampling,
  samplingLate,
  askingEverything,
] as readonly DurableTool[];
