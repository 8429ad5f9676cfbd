/** What TypeScript infers for the authors of tools. `tsc --noEmit` examines this file; nothing in it ever runs. */
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  durableTool,
  type FormAnswer,
  type Json,
  type Jsonify,
  type TaskContext,
  type Tasks,
  type ToolResult,
} from '../src/index.ts';
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
const lenient = durableTool('lenient', { inputSchema: z.object({}).optional() }, async () => 'text');

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

test('the value of a step is what JSON makes of it', async () => {
  class Parcel {
    weight = 1;
    note: string | undefined;
    packed = new Date();
    open() {}
  }
  interface Problem {
    readonly name: string;
    readonly message: string;
    readonly at: Date;
  }
  expectTypeOf(await task.step('date', () => new Date())).toEqualTypeOf<string>();
  expectTypeOf(await task.step('parcel', async () => new Parcel())).toEqualTypeOf<{
    weight: number;
    note?: string;
    packed: string;
  }>();
  expectTypeOf(await task.step('list', () => [new URL('a:b'), undefined])).toEqualTypeOf<(string | null)[]>();
  expectTypeOf(await task.step('bytes', () => Buffer.from('a'))).toEqualTypeOf<{
    type: 'Buffer';
    data: number[];
  }>();
  expectTypeOf(await task.step('json', (): Json => null)).toEqualTypeOf<Json>();
  expectTypeOf(await task.step('unknown', (): { from: unknown } => ({ from: 1 }))).toEqualTypeOf<{
    from: unknown;
  }>();
  expectTypeOf(await task.step('maybe', (): string | undefined => 'a')).toEqualTypeOf<string | undefined>();
  expectTypeOf(await task.step('nothing', async () => {})).toEqualTypeOf<void>();
  expectTypeOf((await task.step('problem', (): Problem => null!)).at).toEqualTypeOf<string>();
  // @ts-expect-error a Date is stored as a string
  (await task.step('date', () => new Date())).getTime();
  // @ts-expect-error a Map cannot be stored
  (await task.step('map', () => new Map([['a', 1]]))).get('a');
  // @ts-expect-error a function cannot be stored
  (await task.step('function', () => () => 1))();
  // @ts-expect-error a bigint cannot be stored
  (await task.step('bigint', () => ({ n: 1n }))).n + 1n;
});

test('a helper may pass on the value of any step', () => {
  const twice = async <T>(run: () => Promise<T>): Promise<Jsonify<T>[]> => [
    await task.step('first', run),
    await task.step('second', run),
  ];
  expectTypeOf(twice(async () => new Date())).toEqualTypeOf<Promise<string[]>>();
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
  // @ts-expect-error a tool without a schema takes no input
  await task.start(plain, { source: 'almanac' });
  await task.start(lenient);
});

test('a poll gives what its check finds, without the values that mean not yet', () => {
  const found = task.waitForCondition('ready', () => (Math.random() < 0.5 ? undefined : { build: 7 }), {
    every: '1m',
  });
  expectTypeOf(found).toEqualTypeOf<Promise<{ build: number }>>();
  // @ts-expect-error how often must be said
  task.waitForCondition('ready', () => true, {});
});

test('a task is created, and a tool is tried, with the input of the tool', () => {
  void tasks.create(summarise, { source: 'almanac' });
  // @ts-expect-error the source is no number
  void tasks.create(summarise, { source: 7 });
  // @ts-expect-error the input is missing
  void tasks.create(summarise);
  void tasks.create(plain);
  void tasks.create(plain, {}, { idempotencyKey: 'k' });
  // @ts-expect-error a tool without a schema takes no input
  void tasks.create(plain, { source: 'almanac' });
  void tasks.create(lenient);
  void tasks.create('by_name', { anything: 1 });
  void tasks.create('by_name');
  void runTool(summarise, { source: 'almanac' });
  // @ts-expect-error the source is missing
  void runTool(summarise, {});
});

test('an answer has the type of its question', async () => {
  expectTypeOf(await task.ask('sign', { message: 'Sign in.', url: 'https://example.com' })).toEqualTypeOf<{
    readonly action: 'accept' | 'decline' | 'cancel';
  }>();
  const { roots } = await task.ask('folders', { roots: true });
  expectTypeOf(roots[0]!.uri).toEqualTypeOf<string>();
  const answer = await task.ask('form', { message: 'Publish?', schema: z.object({ ok: z.boolean() }) });
  // @ts-expect-error who declines gives no content
  void answer.content;
  if (answer.action === 'accept') expectTypeOf(answer.content).toEqualTypeOf<{ ok: boolean }>();
});

test('a model is asked and answers as the protocol has it', async () => {
  const { content, stopReason } = await task.ask('rhyme', {
    sampling: { messages: [{ role: 'user', content: { type: 'text', text: 'A rhyme?' } }], maxTokens: 10 },
  });
  expectTypeOf(stopReason).toEqualTypeOf<string | undefined>();
  if ('type' in content && content.type === 'text') expectTypeOf(content.text).toEqualTypeOf<string>();
  // @ts-expect-error the messages are mistyped
  task.ask('rhyme', { sampling: { mesages: [], maxTokens: 10 } });
  // @ts-expect-error the protocol wants a limit
  task.ask('rhyme', { sampling: { messages: [] } });
  // @ts-expect-error a model is no person
  task.ask('rhyme', { sampling: { messages: [], maxTokens: 1 } }, { person: true });
  // @ts-expect-error a client cannot make a task of its roots
  task.ask('folders', { roots: true }, { asTask: true });
});

test('a question has no members that are mistyped', () => {
  // @ts-expect-error there is no "mesage"
  task.ask('form', { mesage: 'Publish?', schema: z.object({ ok: z.boolean() }) });
  // @ts-expect-error there is no "scheme"
  task.ask('page', { message: 'Sign in.', url: 'https://example.com', scheme: 'https' });
});

test('an event has the type of its schema, and is any JSON without one', async () => {
  expectTypeOf(await task.waitForEvent('paid')).toEqualTypeOf<Json>();
  expectTypeOf(await task.waitForEvent('paid', { timeout: '1d' })).toEqualTypeOf<Json>();
  const schema = z.object({ amount: z.number(), currency: z.string().default('EUR') });
  expectTypeOf(await task.waitForEvent('paid', { schema, timeout: '1d' })).toEqualTypeOf<{
    amount: number;
    currency: string;
  }>();
  // @ts-expect-error a type alone checks nothing: a webhook may send whatever it likes
  void task.waitForEvent<{ amount: number }>('paid');
});
