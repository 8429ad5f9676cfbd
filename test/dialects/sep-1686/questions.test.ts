import { durableTool } from 'holdfast';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { Peer as Later, withTasks } from '../revision-2026-07-28/peer.ts';
import { type Message, newest, related, serving, sessionOn, unasked } from './requestor.ts';

const elicitation = 'elicitation/create';
const yes = { action: 'accept', content: { name: 'Ada' } };
const confirmed = { action: 'accept', content: { confirm: true } };

test('S1686-33 S1686-34 S1686-46 S1686-47: a question comes on the stream of the request with the name of its task, which waits for the answer', async () => {
  const { requestor } = await serving();
  const exchange = await requestor.start('one', 'ask_name');
  const { id, params } = await exchange.next(elicitation);
  expect(params).toMatchObject({ message: 'What is your name?', _meta: related('one') });
  expect((await requestor.get('one')).result.status).toBe('input_required');
  await requestor.answer(id, yes);
  expect((await exchange.reply).result.content[0].text).toBe('Hello, Ada!');
});

test('S1686-34 S1686-47: so do questions to the model', async () => {
  const { requestor } = await serving();
  const exchange = await requestor.start('one', 'sample', { prompt: 'Say hello' });
  const { id, params } = await exchange.next('sampling/createMessage');
  expect(params._meta).toMatchObject(related('one'));
  const content = { type: 'text', text: 'hello' };
  await requestor.answer(id, { role: 'assistant', model: 'm', content });
  expect((await exchange.reply).result.content[0].text).toBe('hello');
});

test('S1686-47: a question of a subtask names the task of the request', async () => {
  const { requestor } = await serving();
  const exchange = await requestor.start('one', 'fan_out', { children: 1, depth: 2, delayMs: 0, ask: true });
  const { id, params } = await exchange.next(elicitation);
  expect(params._meta).toMatchObject(related('one'));
  expect((await requestor.get('one')).result.status).toBe('input_required');
  await requestor.answer(id, confirmed);
  expect((await exchange.reply).result.content[0].text).toBe('parent (parent 1.1)');
});

test('S1686-35: with the answer the task goes back to work', async () => {
  const gate = Promise.withResolvers<void>();
  const asksFirst = durableTool('asks_first', { description: 'Asks, and works.' }, async (_, task) => {
    await task.ask('confirm', { message: 'Go on?', schema: z.object({ confirm: z.boolean() }) });
    await task.step('work', () => gate.promise);
    return 'worked';
  });
  const { requestor } = await serving({ more: [asksFirst] });
  const exchange = await requestor.start('one', 'asks_first');
  const { id } = await exchange.next(elicitation);
  expect((await requestor.get('one')).result.status).toBe('input_required');
  await requestor.answer(id, confirmed);
  await requestor.until('one', 'working');
  gate.resolve();
  expect((await exchange.reply).result.content[0].text).toBe('worked');
});

test('S1686-36: a task that asks two things at once waits until both are answered', async () => {
  const { requestor, tasks } = await serving();
  const exchange = await requestor.start('one', 'multi_input');
  const [first, second] = await exchange.heard(elicitation, 2);
  for (const { params } of [first!, second!]) expect(params._meta).toMatchObject(related('one'));
  const answered = Promise.withResolvers<void>();
  await tasks.subscribe(({ events }) => {
    if (events.some(({ type }) => type === 'answered')) answered.resolve();
  });
  await requestor.answer(second!.id, confirmed);
  await answered.promise;
  expect((await requestor.get('one')).result.status).toBe('input_required');
  await requestor.answer(first!.id, confirmed);
  const [{ text }] = (await exchange.reply).result.content;
  expect(JSON.parse(text)).toMatchObject([confirmed, confirmed]);
});

test('a question is put once, on the stream of the request, though another is open', async () => {
  const { requestor, peer } = await serving();
  const heard = await unasked(peer);
  const exchange = await requestor.start('one', 'ask_name');
  const { id } = await exchange.next(elicitation);
  for (let n = 0; n < 5; n++) await requestor.get('one');
  await requestor.answer(id, yes);
  await exchange.reply;
  expect(exchange.messages.filter(({ method }) => method === elicitation)).toHaveLength(1);
  expect(heard).toEqual([]);
});

test('S1686-47: a request whose connection is gone is asked on the stream that belongs to no request, with the same name', async () => {
  const { requestor, peer } = await serving();
  const heard = await unasked(peer);
  const exchange = await requestor.start('one', 'ask_name');
  const first = await exchange.next(elicitation);
  exchange.drop();
  await expect.poll(() => heard.length).toBe(1);
  const [{ id, method, params }] = heard as [Message];
  expect(method).toBe(elicitation);
  expect(params._meta).toMatchObject(related('one'));
  expect(id).not.toBe(first.id);
  await requestor.answer(id, yes);
  await requestor.until('one', 'completed');
});

test('a requestor that comes back without a stream is asked as soon as it opens one', async () => {
  const { requestor, peer } = await serving();
  const exchange = await requestor.start('one', 'ask_name');
  await exchange.next(elicitation);
  exchange.drop();
  await requestor.until('one', 'input_required');
  const heard = await unasked(peer);
  await expect.poll(() => heard.length).toBe(1);
  await requestor.answer(heard[0]!.id, yes);
  await requestor.until('one', 'completed');
});

test('S1686-53 S1686-52: a task that is cancelled while it waits takes its question back, and a late answer changes nothing', async () => {
  const { requestor } = await serving();
  const exchange = await requestor.start('one', 'multi_input');
  const questions = await exchange.heard(elicitation, 2);
  await requestor.cancel(exchange.id);
  await requestor.until('one', 'cancelled');
  for (const { id } of questions) await requestor.answer(id, confirmed);
  expect((await requestor.get('one')).result.status).toBe('cancelled');
  expect((await requestor.result('one')).error.code).toBe(-32602);
  // The server is well.
  expect((await requestor.begin('two', 'big', { bytes: 1 }).reply).result.content[0].text).toBe('x');
});

test('the requestor is told that a question is not open any more', async () => {
  const { requestor, tasks } = await serving();
  const exchange = await requestor.start('one', 'ask_name');
  const { id } = await exchange.next(elicitation);
  await tasks.answer(await newest(tasks), { name: { action: 'accept', content: { name: 'Bob' } } });
  expect((await exchange.reply).result.content[0].text).toBe('Hello, Bob!');
  const taken = await exchange.next('notifications/cancelled');
  expect(taken.params.requestId).toBe(id);
});

test('an answer that does not fit is asked for again, and after three the handler hears that there is none', async () => {
  const { requestor } = await serving();
  const exchange = await requestor.start('one', 'ask_name');
  for (let asked = 1; asked <= 3; asked++) {
    const questions = await exchange.heard(elicitation, asked);
    await requestor.answer(questions.at(-1)!.id, { action: 'accept', content: { name: 42 } });
  }
  expect((await exchange.reply).result.isError).toBe(true);
  expect(exchange.messages.filter(({ method }) => method === elicitation)).toHaveLength(3);
});

test('an answer that comes over another revision counts', async () => {
  const { requestor, url, tasks } = await serving();
  const exchange = await requestor.start('one', 'ask_name');
  await exchange.next(elicitation);
  const later = new Later(url, withTasks);
  await later.request('tasks/update', { taskId: await newest(tasks), inputResponses: { name: yes } });
  expect((await exchange.reply).result.content[0].text).toBe('Hello, Ada!');
});

test('nobody can answer the question of another session', async () => {
  const { requestor, url } = await serving();
  const exchange = await requestor.start('one', 'ask_name');
  const { id } = await exchange.next(elicitation);
  const stranger = await sessionOn(url);
  await stranger.answer(id, { action: 'accept', content: { name: 'Mallory' } });
  await requestor.answer(id, yes);
  expect((await exchange.reply).result.content[0].text).toBe('Hello, Ada!');
});
