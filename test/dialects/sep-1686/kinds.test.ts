/** Any request may become a task; here those for resources and prompts do. */
import { describe, expect, test } from 'vitest';
import { created, type Message, type Requestor, related, serving, tokens } from './requestor.ts';

const yes = { action: 'accept', content: {} };

/** What is asked for, and what it gives. */
const kinds: [method: string, params: object, result: object][] = [
  ['tools/call', { name: 'nap', arguments: { ms: 50 } }, { content: [{ type: 'text', text: 'woke' }] }],
  [
    'resources/read',
    { uri: 'report://tides' },
    { contents: [{ uri: 'report://tides', text: 'The report tides.' }] },
  ],
  [
    'prompts/get',
    { name: 'letter', arguments: { to: 'Bob' } },
    { messages: [{ role: 'user', content: { type: 'text', text: 'Write a letter to Bob.' } }] },
  ],
];

describe.each(kinds)('S1686-11: %s', (method, params, result) => {
  test('S1686-45 S1686-97: gives as a task what it gives without, and later gives it again', async () => {
    const { requestor } = await serving({ tokens });
    const plain = await requestor.request(method, params);
    const exchange = requestor.augment(method, params, { taskId: 'one', keepAlive: 60_000 });
    const reply = await exchange.reply;
    expect(plain.result).toMatchObject(result);
    expect(reply.result).toEqual({ ...plain.result, _meta: related('one') });
    expect((await requestor.result('one')).result).toEqual(reply.result);
    expect(exchange.messages.map((message) => message.method)).toEqual([created, undefined]);
    expect((await requestor.get('one')).result).toMatchObject({ status: 'completed', keepAlive: 60_000 });
    expect((await requestor.listAll()).map(({ taskId }) => taskId)).toEqual(['one']);
  });

  test('S1686-22: of one name is carried out once', async () => {
    const { requestor } = await serving();
    await requestor.augment(method, params, { taskId: 'one' }).reply;
    expect((await requestor.augment(method, params, { taskId: 'one' }).reply).error.code).toBe(-32602);
  });

  test('outlives its connection', async () => {
    const { requestor } = await serving();
    const exchange = requestor.augment(method, params, { taskId: 'one' });
    await exchange.next(created);
    exchange.drop();
    await requestor.until('one', 'completed');
    expect((await requestor.result('one')).result).toMatchObject(result);
  });

  test('can be cancelled', async () => {
    const { requestor } = await serving({ works: false });
    const exchange = requestor.augment(method, params, { taskId: 'one' });
    await exchange.next(created);
    await requestor.cancel(exchange.id);
    await requestor.until('one', 'cancelled');
  });
});

async function asked(requestor: Requestor): Promise<Message> {
  const exchange = requestor.augment('resources/read', { uri: 'report://asked' }, { taskId: 'one' });
  const { id, params } = await exchange.next('elicitation/create');
  expect(params).toMatchObject({ message: 'Write report://asked?', _meta: related('one') });
  expect((await requestor.get('one')).result.status).toBe('input_required');
  await requestor.answer(id, yes);
  return exchange.reply;
}

test('S1686-11 S1686-33 S1686-34: a resource may ask its reader', async () => {
  const { requestor } = await serving();
  expect((await asked(requestor)).result.contents[0].text).toBe('The report that was asked for.');
});

test('S1686-17: a resource and a prompt that are not there are refused as they are without the metadata', async () => {
  const { requestor } = await serving({ tokens });
  for (const [method, params] of [
    ['resources/read', { uri: 'nowhere://x' }],
    ['prompts/get', { name: 'nobody' }],
    ['tools/call', { name: 'nothing', arguments: {} }],
  ] as const) {
    const { id: _, ...plain } = await requestor.request(method, params);
    const exchange = requestor.augment(method, params, { taskId: 'one' });
    expect(await exchange.reply).toMatchObject(plain);
    expect(exchange.messages).toHaveLength(1);
  }
  expect(await requestor.listAll()).toEqual([]);
});

test('arguments that a prompt does not take are refused, and make no task', async () => {
  const { requestor } = await serving({ tokens });
  const { error } = await requestor.augment(
    'prompts/get',
    { name: 'letter', arguments: {} },
    { taskId: 'one' },
  ).reply;
  expect(error.code).toBe(-32602);
  expect(await requestor.listAll()).toEqual([]);
});
