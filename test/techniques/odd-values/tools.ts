/** Tools that throw, return and pass on odd values, each in one way. */
import { setImmediate as soon } from 'node:timers/promises';
import { type DurableTool, durableTool, type TaskContext } from 'holdfast';
import { z } from 'zod';
import { oddValues } from './values.ts';

type Way = (value: never, task: TaskContext) => unknown;

/** How a handler gets rid of a value that is no result. */
export const throwingWays: Readonly<Record<string, Way>> = {
  'thrown by the handler': async (value) => {
    throw value;
  },
  'thrown before the handler returns a promise': (value) => {
    throw value;
  },
  'thrown after a step': async (value, task) => {
    await task.step('before', () => 1);
    throw value;
  },
  'rejected by the handler': (value) => Promise.reject(value),
  'rejected and awaited by nobody': async (value, task) => {
    void Promise.reject(value);
    await task.step('beside', () => soon());
    await task.sleep('1h');
  },
  'thrown in a step': (value, task) =>
    task.step('odd', () => {
      throw value;
    }),
  'thrown in a step that is tried again': (value, task) =>
    task.step('odd', () => Promise.reject(value), { retry: { attempts: 3, delay: 1 } }),
  'thrown in a step with a time-out': (value, task) =>
    task.step('odd', () => Promise.reject(value), { timeout: '1h' }),
  'thrown in a check': (value, task) =>
    task.waitForCondition('odd', () => Promise.reject(value), { every: '1s' }),
};

export const returningWays: Readonly<Record<string, Way>> = {
  'returned by the handler': async (value) => value,
  'returned in a result': async (value) => ({ content: [{ type: 'text', text: value }] }),
  'returned by a step': async (value, task) => {
    await task.step('odd', () => value);
  },
  'returned by a step that may be tried again': async (value, task) => {
    await task.step('odd', () => ({ deep: [value] }), { retry: { attempts: 3, delay: 1 } });
  },
  'returned by a check': async (value, task) => {
    await task.waitForCondition('odd', () => value, { every: '1ms', timeout: '20ms' });
  },
};

const leaf = durableTool('leaf', { task: 'always', inputSchema: z.any() }, async () => 'leaf');
const question = { message: 'And?', schema: z.object({}) };
const brief = { timeout: '1ms' } as const;

/** Each names the method that it calls. */
export const passingWays: Readonly<Record<string, Way>> = {
  'step: name': (value, task) => task.step(value, () => 1),
  'step: run': (value, task) => task.step('odd', value),
  'step: options': (value, task) => task.step('odd', () => 1, value),
  'step: retry': (value, task) => task.step('odd', () => 1, { retry: value }),
  'step: attempts': (value, task) => task.step('odd', () => 1, { retry: { attempts: value } }),
  'step: delay': (value, task) => task.step('odd', () => 1, { retry: { delay: value } }),
  'step: longest delay': (value, task) => task.step('odd', () => 1, { retry: { maxDelay: value } }),
  'step: time-out': (value, task) => task.step('odd', () => 1, { timeout: value }),
  'sleep: duration': (value, task) => task.sleep(value),
  'sleepUntil: moment': (value, task) => task.sleepUntil(value),
  'ask: key': (value, task) => task.ask(value, question, brief),
  'ask: question': (value, task) => task.ask('odd', value, brief),
  'ask: message': (value, task) => task.ask('odd', { ...question, message: value }, brief),
  'ask: schema': (value, task) => task.ask('odd', { message: 'And?', schema: value }, brief),
  'ask: JSON Schema': (value, task) => task.ask('odd', { message: 'And?', schema: schemaOf(value) }, brief),
  'ask: url': (value, task) => task.ask('odd', { message: 'And?', url: value }, brief),
  'ask: sampling': (value, task) => task.ask('odd', { sampling: value }, brief),
  'ask: patience': (value, task) => Promise.race([task.ask('odd', question, value), task.sleep('1ms')]),
  'ask: time-out': (value, task) =>
    Promise.race([task.ask('odd', question, { timeout: value }), task.sleep('1ms')]),
  'start: tool': async (value, task) => (await task.start(value, {} as never)).cancel(),
  'start: name of a tool': async (value, task) => (await task.start({ ...leaf, name: value }, {})).cancel(),
  'start: input': async (value, task) => (await task.start(leaf, value)).id,
  'cancel: reason': async (value, task) => (await task.start(leaf, {})).cancel(value),
  'until: name': (value, task) => task.waitForCondition(value, () => true, { every: '1s' }),
  'until: check': (value, task) => task.waitForCondition('odd', value, { every: '1s' }),
  'until: options': (value, task) => task.waitForCondition('odd', () => true, value),
  'until: every': (value, task) => task.waitForCondition('odd', () => true, { every: value }),
  'until: time-out': (value, task) =>
    task.waitForCondition('odd', () => true, { every: '1s', timeout: value }),
  'event: name': (value, task) => task.waitForEvent(value, brief),
  'event: patience': (value, task) => Promise.race([task.waitForEvent('odd', value), task.sleep('1ms')]),
  'event: time-out': (value, task) =>
    Promise.race([task.waitForEvent('odd', { timeout: value }), task.sleep('1ms')]),
  'progress: done': async (value, task) => task.progress(value),
  'progress: total': async (value, task) => task.progress(1, value),
  'progress: message': async (value, task) => task.progress(1, 2, value),
  'say: message': async (value, task) => task.setStatusMessage(value),
  'setPollInterval: duration': async (value, task) => task.setPollInterval(value),
};

function schemaOf(jsonSchema: unknown): never {
  const validate = (value: unknown) => ({ value });
  return {
    '~standard': { version: 1, vendor: 'odd', validate, jsonSchema: { input: () => jsonSchema } },
  } as never;
}

export const ways: Readonly<Record<string, Way>> = { ...throwingWays, ...returningWays, ...passingWays };

export const odd = durableTool(
  'odd',
  { task: 'always', inputSchema: z.object({ value: z.string(), way: z.string() }) },
  (({ value, way }: { value: string; way: string }, task: TaskContext) => {
    const [make] = oddValues.get(value)!;
    return ways[way]!(make() as never, task);
  }) as never,
);

/** What must not be troubled by any of them. */
export const neighbour = durableTool('neighbour', { task: 'always' }, async (_, task) => {
  for (let n = 0; n < 3; n++) await task.step(`step ${n}`, () => soon());
  return 'well';
});

export const tools: readonly DurableTool[] = [odd, neighbour, leaf] as never;
