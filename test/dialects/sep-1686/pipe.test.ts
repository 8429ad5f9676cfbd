/** The same over a pipe, where the connection is the session. */
import { sqlite } from 'holdfast/sqlite';
import { expect, test } from 'vitest';
import { fixtureOnPipe } from '../../kit/serve.ts';
import { Place, standing } from '../../serving/place.ts';
import { created, drafts, Requestor, related } from './requestor.ts';

const yes = { action: 'accept', content: { name: 'Ada' } };

/** A server on a pipe, and the requestor at its other end. */
async function piped({ location = 'memory:', on = drafts as readonly never[] | typeof drafts } = {}) {
  const { client, ...server } = await fixtureOnPipe({ store: sqlite(location), drafts: on });
  return { ...server, requestor: new Requestor(await client.open()) };
}

test('S1686-13 S1686-14 S1686-12 S1686-46: a task is announced, and its request answered', async () => {
  const { requestor } = await piped();
  const exchange = requestor.begin('one', 'nap', { ms: 50 });
  await exchange.reply;
  expect(exchange.messages).toEqual([
    { jsonrpc: '2.0', method: created, params: { _meta: related('one') } },
    {
      jsonrpc: '2.0',
      id: exchange.id,
      result: { content: [{ type: 'text', text: 'woke' }], _meta: related('one') },
    },
  ]);
});

test('S1686-60 S1686-61: it is looked at, fetched, listed and deleted', async () => {
  const { requestor } = await piped();
  await requestor.begin('one', 'big', { bytes: 1 }, { keepAlive: 60_000 }).reply;
  const task = { taskId: 'one', status: 'completed', keepAlive: 60_000, pollFrequency: 1_000 };
  expect((await requestor.get('one')).result).toEqual({ ...task, _meta: related('one') });
  expect((await requestor.result('one')).result._meta).toEqual(related('one'));
  expect((await requestor.list()).result).toEqual({ tasks: [task] });
  expect((await requestor.delete('one')).result).toEqual({ _meta: related('one') });
  expect((await requestor.get('one')).error.code).toBe(-32602);
  expect((await requestor.list()).result).toEqual({ tasks: [] });
});

test('S1686-22: a name that was used is refused', async () => {
  const { requestor } = await piped();
  await requestor.start('one', 'nap', { ms: 60_000 });
  expect((await requestor.begin('one', 'nap', { ms: 1 }).reply).error.code).toBe(-32602);
});

test('S1686-33 S1686-34 S1686-36: two questions come with the name of their task, which waits for both answers', async () => {
  const { requestor } = await piped();
  const exchange = await requestor.start('one', 'multi_input');
  const questions = await exchange.heard('elicitation/create', 2);
  for (const { id, params } of questions) {
    expect(params._meta).toMatchObject(related('one'));
    expect((await requestor.get('one')).result.status).toBe('input_required');
    await requestor.answer(id, { action: 'accept', content: { confirm: true } });
  }
  expect((await exchange.reply).result.content[0].text).toContain('accept');
});

test('S1686-48 S1686-53: a cancelled request ends its task, and a late answer changes nothing', async () => {
  const { requestor } = await piped();
  const exchange = await requestor.start('one', 'ask_name');
  const { id } = await exchange.next('elicitation/create');
  await requestor.cancel(exchange.id);
  await requestor.until('one', 'cancelled');
  await requestor.answer(id, yes);
  expect((await requestor.get('one')).result.status).toBe('cancelled');
});

test('S1686-50: a cancellation that comes after the end is passed over', async () => {
  const { requestor } = await piped();
  const { id, reply } = requestor.begin('one', 'big', { bytes: 1 });
  await reply;
  await requestor.cancel(id, 'one');
  expect((await requestor.get('one')).result.status).toBe('completed');
});

test('S1686-02 S1686-24: a pipe that is closed cancels nothing: the next one finds the task by its name, and is asked', async () => {
  const place = new Place();
  const first = await piped({ location: place.database });
  const exchange = await first.requestor.start('one', 'ask_name');
  await exchange.next('elicitation/create');
  first.input.end();
  await first.server.stopped;
  expect(standing(place.tasks())).toEqual(['waiting']);

  const { requestor } = await piped({ location: place.database });
  expect((await requestor.begin('one', 'ask_name').reply).error.code).toBe(-32602);
  const looking = requestor.open('tasks/get', { taskId: 'one', _meta: related('one') });
  // On a pipe everything comes on the one stream; a request that stays open hears it all.
  const listening = await requestor.start('two', 'nap', { ms: 60_000 });
  expect((await looking.reply).result.status).toBe('input_required');
  const { id, params } = await listening.next('elicitation/create');
  expect(params._meta).toMatchObject(related('one'));
  await requestor.answer(id, yes);
  await requestor.until('one', 'completed');
  expect((await requestor.result('one')).result.content[0].text).toBe('Hello, Ada!');
});

test('S1686-48: a request of a pipe that was closed can be cancelled over the next', async () => {
  const place = new Place();
  const first = await piped({ location: place.database });
  const { id } = await first.requestor.start('one', 'nap', { ms: 60_000 });
  first.input.end();
  await first.server.stopped;

  const { requestor } = await piped({ location: place.database });
  await requestor.cancel('wrong', 'one');
  expect((await requestor.get('one')).result.status).toBe('working');
  await requestor.cancel(id, 'one');
  await requestor.until('one', 'cancelled');
});

test('S1686-06 S1686-16: with the draft off the metadata is passed over', async () => {
  const { requestor } = await piped({ on: [] });
  const exchange = requestor.begin('one', 'big', { bytes: 1 });
  expect((await exchange.reply).result).toEqual({ content: [{ type: 'text', text: 'x' }] });
  expect((await requestor.get('one')).error.code).toBe(-32602);
  expect((await requestor.delete('one')).error.code).toBe(-32601);
});
