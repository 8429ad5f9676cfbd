/** What TypeScript infers for the authors of tools. `tsc --noEmit` examines this file; nothing in it ever runs. */
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { durableTool, type FormAnswer, type TaskContext, type Tasks, type ToolResult } from '../src/index.ts';
import { runTool } from '../src/testing.ts';

declare const task: TaskContext;
declare const tasks: Tasks;

const summarise = durableTool(
  'summarise',
  {
    inputSchema: z.object({ source: z.string(), words: z.number().default(100) }),
    outputSchema: z.object({ summary: z.string() }),
  },
  async (input) => {
    expectTypeOf(input).toEqualTypeOf<{ source: string; words: number }>();
    return { summary: input.source };
  },
);
const plain = durableTool('plain', {}, async () => 'text');

test('a handler must return what its output schema says', () => {
  const outputSchema = z.object({ n: z.number() });
  // @ts-expect-error a string is no number
  durableTool('wrong', { outputSchema }, async () => ({ n: 'one' }));
  durableTool('whole', { outputSchema }, async () => ({ content: [] }));
});

test('a handler without an output schema may return a text, a whole result, an object, or nothing', () => {
  durableTool('text', {}, async () => 'text');
  durableTool('whole', {}, async (): Promise<ToolResult> => ({ content: [] }));
  durableTool('object', {}, async () => ({ any: 1 }));
  durableTool('nothing', {}, async () => {});
});

test('the value of a step is what its function returns', () => {
  expectTypeOf(task.step('sync', () => 1)).toEqualTypeOf<Promise<number>>();
  expectTypeOf(task.step('async', async () => 'a')).toEqualTypeOf<Promise<string>>();
});

test('the answer to a form has the type of its schema, once it is accepted', () => {
  const answer = task.ask('approval', { message: 'Publish?', schema: z.object({ ok: z.boolean() }) });
  expectTypeOf(answer).toEqualTypeOf<Promise<FormAnswer<{ ok: boolean }>>>();
  // @ts-expect-error a question is a form, a page, a model request, or a question for roots
  task.ask('nothing', { message: 'Publish?' });
});

test('a subtask takes the input of its tool, and gives its output', async () => {
  const subtask = await task.start(summarise, { source: 'almanac' });
  expectTypeOf((await subtask.result()).structuredContent).toEqualTypeOf<{ summary: string } | undefined>();
  // @ts-expect-error the source is missing
  await task.start(summarise, {});
  // @ts-expect-error a tool with an input schema needs its input
  await task.start(summarise);
  await task.start(plain);
});

test('a poll gives what its check finds, without the values that mean not yet', () => {
  const found = task.until('ready', () => (Math.random() < 0.5 ? undefined : { build: 7 }), { every: '1m' });
  expectTypeOf(found).toEqualTypeOf<Promise<{ build: number }>>();
  // @ts-expect-error how often must be said
  task.until('ready', () => true, {});
});

test('a task is created, and a tool is tried, with the input of the tool', () => {
  void tasks.create(summarise, { source: 'almanac' });
  // @ts-expect-error the source is no number
  void tasks.create(summarise, { source: 7 });
  void tasks.create('by_name', { anything: 1 });
  void runTool(summarise, { source: 'almanac' });
  // @ts-expect-error the source is missing
  void runTool(summarise, {});
});
