/** Durable tools that say a secret wherever a handler can say anything. */
import { z } from 'zod';
import { durableTool, ProtocolError } from '../../src/index.ts';
import { secretIn } from './secrets.ts';

const whisper = durableTool('whisper', { inputSchema: z.object({ text: z.string() }) }, ({ text }, task) =>
  task.step('listen', () => `${text}, ${secretIn('subtask result')}`),
);

const confide = durableTool(
  'confide',
  { inputSchema: z.object({ text: z.string(), deep: z.array(z.object({ text: z.string() })) }) },
  async ({ text, deep }, task) => {
    task.setStatusMessage(secretIn('status message'));
    task.progress(1, 3, secretIn('progress message'));
    const first = await task.step(secretIn('step name'), () => ({ value: secretIn('step value') }));
    await task.step(
      'flaky',
      ({ attempt }) => {
        if (attempt === 1) throw new Error(secretIn('failed attempt'));
        return secretIn('second step value');
      },
      { retry: { attempts: 2, delay: '1ms' } },
    );
    const subtask = await task.start(whisper, { text: secretIn('subtask argument') });
    const whispered = await subtask.result();
    const event = await task.waitForEvent(secretIn('event name'));
    const answer = await task.ask(secretIn('question key'), {
      message: secretIn('question message'),
      schema: z.object({ code: z.string().describe(secretIn('question schema')) }),
    });
    const structured = secretIn('structured result');
    return {
      content: [{ type: 'text', text: secretIn('result') }],
      structuredContent: { structured, text, deep, first, whispered, event, answer },
    };
  },
);

const boast = durableTool('boast', {}, (_, task) =>
  task.step('write', () => `${secretIn('large result')} `.repeat(20_000)),
);

const stumble = durableTool('stumble', {}, async () => {
  throw new Error(secretIn('thrown error'));
});

const refuse = durableTool('refuse', {}, async () => {
  throw new ProtocolError(-32_000, secretIn('protocol error'), { why: secretIn('protocol error data') });
});

const wait = durableTool('wait', {}, async (_, task) => {
  await task.sleep('1h');
});

/** As many steps as it is told, each with a value that depends on those before. */
const count = durableTool(
  'count',
  { inputSchema: z.object({ steps: z.number(), pauseMs: z.number() }) },
  async ({ steps, pauseMs }, task) => {
    let sum = 0;
    for (let n = 1; n <= steps; n++) {
      sum += await task.step(`add ${n}`, async () => {
        if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
        return n;
      });
    }
    return String(sum);
  },
);

export const tools = [whisper, confide, boast, stumble, refuse, wait, count];
