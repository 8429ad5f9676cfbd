/** The tools of the servers under test. What a handler did can be read from the file that it is given. */
import { existsSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { type DurableTool, durableTool, type TaskContext, type TaskSetting } from '../../src/index.ts';

const Name = z.object({ name: z.string() });
const Traced = z.object({ trace: z.string() });
/** What is held at a gate goes on once a file of that name exists. */
const Gated = Traced.extend({ gate: z.string() });

const settings: readonly TaskSetting[] = ['auto', 'always', 'never', 'required'];

function tell(trace: string, line: string): Promise<void> {
  return appendFile(trace, `${line}\n`);
}

async function passGate(task: TaskContext, { trace, gate }: z.infer<typeof Gated>, signal: AbortSignal) {
  while (!existsSync(gate) && !signal.aborted) await pause(5);
  // A worker that shuts down stops its steps too; only what ends the task is a cancellation.
  await pause(0);
  if (task.signal.aborted) await tell(trace, 'stopped');
  signal.throwIfAborted();
}

/** Three steps, the second of them held at a gate, in one tool for each setting: `work_auto`, `work_always`, … */
const work = settings.map((setting) =>
  durableTool(`work_${setting}`, { task: setting, inputSchema: Gated }, async (input, task) => {
    await task.step('first', () => tell(input.trace, 'first'));
    await task.step('second', async ({ signal }) => {
      await tell(input.trace, 'second');
      await passGate(task, input, signal);
    });
    await task.step('third', () => tell(input.trace, 'third'));
    return 'worked';
  }),
);

const atOnce = settings.map((setting) =>
  durableTool(`at_once_${setting}`, { task: setting }, async (_, task) => task.step('only', () => 'at once')),
);

const progress = durableTool('progress', {}, async (_, task) => {
  for (const done of [1, 2]) {
    task.progress(done, 2);
    await task.step(`part ${done}`, () => done);
  }
  return 'all of it';
});

const nap = durableTool('nap', { inputSchema: Traced.extend({ ms: z.number() }) }, async (input, task) => {
  await task.step('before', () => tell(input.trace, 'before'));
  await task.sleep(input.ms);
  await task.step('after', () => tell(input.trace, 'after'));
  return 'woke';
});

const ask = durableTool('ask', { inputSchema: Traced }, async ({ trace }, task) => {
  await task.step('before', () => tell(trace, 'before'));
  const answer = await task.ask('name', { message: 'What is your name?', schema: Name });
  const name = answer.action === 'accept' ? answer.content.name : answer.action;
  await task.step('after', () => tell(trace, `after ${name}`));
  return `Hello, ${name}!`;
});

const askTwo = durableTool('ask_two', {}, async (_, task) => {
  const name = async (key: string) => {
    const answer = await task.ask(key, { message: `Your ${key} name?`, schema: Name });
    return answer.action === 'accept' ? answer.content.name : answer.action;
  };
  return (await Promise.all([name('first'), name('last')])).join(' ');
});

const askBesideWork = durableTool('ask_beside_work', { inputSchema: Gated }, async (input, task) => {
  const [answer] = await Promise.all([
    task.ask('name', { message: 'What is your name?', schema: Name }),
    task.step('gate', ({ signal }) => passGate(task, input, signal)),
  ]);
  return answer.action === 'accept' ? `Hello, ${answer.content.name}!` : answer.action;
});

const parent = durableTool('parent', { inputSchema: Gated }, async (input, task) => {
  const child = await task.start(work[0]!, input);
  await child.result();
  await task.step('collected', () => tell(input.trace, 'collected'));
  return 'collected';
});

const parentOfAskers = durableTool('parent_of_askers', { inputSchema: Traced }, async (input, task) => {
  const children = [await task.start(ask, input), await task.start(ask, input)];
  const results = await Promise.all(children.map((child) => child.result()));
  return results.map(({ content }) => content[0]!.text).join(' ');
});

/** Asks for two things one after the other before there is a task, and for one of them again when there is. */
const gather = (setting: TaskSetting) =>
  durableTool(
    `gather_${setting}`,
    {
      task: setting,
      inputSchema: z.object({ name: z.string().optional(), colour: z.string().optional() }),
      before: async (_, put) => {
        const name = await put('name', { message: 'Name before?', schema: Name });
        const colour = await put('colour', {
          message: 'Colour before?',
          schema: z.object({ colour: z.string() }),
        });
        return {
          name: name.action === 'accept' ? name.content.name : 'nobody',
          colour: colour.action === 'accept' ? colour.content.colour : 'none',
        };
      },
    },
    async ({ name, colour }, task) => {
      const later = await task.ask('name', { message: 'Name later?', schema: Name });
      return `${name} ${colour} ${later.action === 'accept' ? later.content.name : 'nobody'}`;
    },
  );

export const servingTools = [
  ...work,
  ...atOnce,
  progress,
  nap,
  ask,
  askTwo,
  askBesideWork,
  parent,
  parentOfAskers,
  gather('always'),
  gather('never'),
] as readonly DurableTool[];
