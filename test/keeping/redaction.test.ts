import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  createTasks,
  durableTool,
  type LogEntry,
  redactTask,
  redactValue,
  type Schema,
  type Task,
} from '../../src/index.ts';
import { openSqlite, sqlite } from '../../src/sqlite.ts';
import { telemetry } from '../../src/telemetry.ts';
import { withCode } from '../kit/with-code.ts';

const secret = 'hunter2';

/** Quotes what it was given, as some libraries do. */
function quoting<T>(isRight: (value: T) => boolean, path: readonly PropertyKey[]): Schema<T> {
  const validate = (value: unknown) =>
    isRight(value as T)
      ? { value: value as T }
      : { issues: [{ message: `wanted something else, received ${JSON.stringify(value)}`, path }] };
  return { '~standard': { version: 1, vendor: 'quoting', validate } };
}

const Card = z.object({ number: z.string() });
const pay = durableTool(
  'pay',
  {
    inputSchema: z.object({ amount: z.number(), apiKey: z.string() }),
    outputSchema: z.object({ receipt: z.string(), card: Card }),
    secrets: ['apiKey', 'number', 'card.number'],
  },
  async ({ apiKey }, task) => {
    await task.step('authenticate', () => apiKey.length);
    const answer = await task.ask('card', { message: 'Which card?', schema: Card });
    if (answer.action !== 'accept') throw new Error('Not paid');
    return { receipt: '1', card: answer.content };
  },
);

test('what is declared secret is in no log, no span and no view of an operator, and reaches caller and handler', async () => {
  const entries: LogEntry[] = [];
  const spans = new InMemorySpanExporter();
  const tracerProvider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
  const database = await openSqlite('memory:');
  await using tasks = createTasks({
    store: database,
    tools: [pay],
    log: (entry) => entries.push(entry),
    telemetry: telemetry({ tracerProvider }),
  });
  const asked = Promise.withResolvers<void>();
  await tasks.subscribe(({ events }) => events.some(({ type }) => type === 'asked') && asked.resolve());
  await tasks.work();
  const { id } = await tasks.create(pay, { amount: 12, apiKey: `${secret}-key` });
  await asked.promise;
  await tasks.answer(id, { card: { action: 'accept', content: { number: `${secret}-card` } } });
  const outcome = await tasks.outcome(id);
  expect(JSON.stringify(outcome)).toContain(`${secret}-card`);

  expect(entries.length).toBeGreaterThan(5);
  expect(JSON.stringify(entries)).not.toContain(secret);
  const exported = spans
    .getFinishedSpans()
    .map(({ name, attributes, events }) => ({ name, attributes, events }));
  expect(exported.length).toBeGreaterThan(2);
  expect(JSON.stringify(exported)).not.toContain(secret);

  const task = (await tasks.get(id)) as Task;
  const fields = tasks.secretsOf(task);
  const [call] = await database.store.journal(id);
  expect(redactValue((call as { arguments: never }).arguments, fields)).toEqual({
    amount: 12,
    apiKey: '[redacted]',
  });
  const shown = redactTask(task, fields);
  expect(JSON.stringify(shown)).not.toContain(secret);
  expect(shown).toMatchObject({
    inputs: [{ key: 'card', response: { action: 'accept', content: { number: '[redacted]' } } }],
    outcome: { value: { structuredContent: { receipt: '1', card: { number: '[redacted]' } } } },
  });
});

test('of a version of a tool that is not known here, everything is secret', async () => {
  await using tasks = createTasks({ store: sqlite('memory:'), tools: [pay] });
  expect(tasks.secretsOf({ tool: 'pay', toolVersion: '1' })).not.toBe('all');
  expect(tasks.secretsOf({ tool: 'pay', toolVersion: '2' })).toBe('all');
  expect(tasks.secretsOf({ tool: 'other', toolVersion: '1' })).toBe('all');
});

test('a schema that quotes what it was given does not quote a secret', async () => {
  const picky = (path: readonly PropertyKey[]) =>
    durableTool(
      'picky',
      { inputSchema: quoting<{ apiKey: string }>(() => false, path), secrets: ['apiKey.part'] },
      async () => 'done',
    );
  for (const path of [[], ['apiKey'], ['apiKey', 'part'], ['apiKey', 0, 'part', 'below']]) {
    const tool = picky(path);
    await using tasks = createTasks({ store: sqlite('memory:'), tools: [tool] });
    const refusal = await tasks.create(tool, { apiKey: secret }).catch((error) => error);
    expect(refusal.message).toMatch(
      /^The input of picky does not fit its schema: .*does not fit \(the details are secret\)\.$/,
    );
    expect(refusal.message).not.toContain(secret);
  }
  const elsewhere = picky(['amount']);
  await using tasks = createTasks({ store: sqlite('memory:'), tools: [elsewhere] });
  await expect(tasks.create(elsewhere, { apiKey: '' })).rejects.toThrow('amount: wanted something else');
});

test('nor do a result and an answer that do not fit', async () => {
  const wrong = durableTool(
    'wrong',
    {
      outputSchema: quoting<{ card: { number: string } }>(() => false, ['card', 'number']),
      secrets: ['card.number'],
    },
    async () => ({ card: { number: secret } }),
  );
  await using tasks = createTasks({ store: sqlite('memory:'), tools: [wrong] });
  await tasks.work();
  const outcome = await tasks.outcome((await tasks.create(wrong)).id);
  expect(JSON.stringify(outcome)).toContain('card.number: does not fit (the details are secret)');
  expect(JSON.stringify(outcome)).not.toContain(secret);
});

test('a log that hears of arguments that no longer fit hears where, and never what they are', async () => {
  const store = await openSqlite('memory:');
  const schema = (isRight: boolean) => quoting<{ name: string }>(() => isRight, ['name']);
  const before = durableTool('greet', { inputSchema: schema(true) }, async () => 'Hello!');
  const { id } = await createTasks({ store, tools: [before] }).create(before, { name: secret });

  const after = durableTool('greet', { inputSchema: schema(false) }, async () => 'Hello!');
  const stuck = Promise.withResolvers<LogEntry>();
  const log = (entry: LogEntry) => void (entry.event === 'stuck' && stuck.resolve(entry));
  await using tasks = createTasks({ store, tools: [after], log });
  await tasks.work();
  const entry = await stuck.promise;
  expect(entry.detail!.message).toContain('the input of greet does not fit its schema at name');
  expect(JSON.stringify(entry)).not.toContain(secret);
  expect((await tasks.get(id))?.statusMessage).not.toContain(secret);
});

test('a path that is none is refused where the tool is declared', () => {
  const declare = () => durableTool('pay', { secrets: ['card[0].number'] }, async () => 'done');
  expect(declare).toThrow(withCode('INVALID_SECRET'));
});
