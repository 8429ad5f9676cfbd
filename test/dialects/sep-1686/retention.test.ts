import { openSqlite } from 'holdfast/sqlite';
import { ManualClock } from 'holdfast/testing';
import { describe, expect, test } from 'vitest';
import { newest, related, serving, tokens } from './requestor.ts';

const yes = { action: 'accept', content: { name: 'Ada' } };
const hour = 3_600_000;

/** A server whose time stands still until it is told to go on. */
async function timeless() {
  const clock = new ManualClock(Date.now());
  return { clock, ...(await serving({ clock, tokens, store: () => openSqlite('memory:', { clock }) })) };
}

test('S1686-39 S1686-71: a task is kept for its keepAlive after its end, however long it took, and is not found afterwards', async () => {
  const { clock, requestor } = await timeless();
  const exchange = await requestor.start('one', 'ask_name', {}, { keepAlive: 60_000 });
  const { id } = await exchange.next('elicitation/create');
  clock.advance(10 * hour);
  expect((await requestor.get('one')).result).toMatchObject({ status: 'input_required', keepAlive: 60_000 });
  await requestor.answer(id, yes);
  await exchange.reply;

  clock.advance(59_999);
  expect((await requestor.result('one')).result.content[0].text).toBe('Hello, Ada!');
  clock.advance(2_000);
  await expect.poll(async () => (await requestor.get('one')).error?.code).toBe(-32602);
  expect((await requestor.get('one')).error.message).toContain('purged after its retention ended');
  expect((await requestor.result('one')).error.code).toBe(-32602);
  expect(await requestor.listAll()).toEqual([]);
});

test('S1686-51: a cancelled task is kept for its keepAlive too, and not for longer', async () => {
  const { clock, requestor } = await timeless();
  const exchange = await requestor.start('one', 'ask_name', {}, { keepAlive: 60_000 });
  await requestor.cancel(exchange.id);
  await requestor.until('one', 'cancelled');
  clock.advance(59_999);
  expect((await requestor.get('one')).result.status).toBe('cancelled');
  clock.advance(2_000);
  await expect.poll(async () => (await requestor.get('one')).error?.code).toBe(-32602);
});

test('a name is free again once its task is gone', async () => {
  const { clock, requestor } = await timeless();
  const first = requestor.begin('one', 'big', { bytes: 1 }, { keepAlive: 60_000 });
  await first.reply;
  clock.advance(62_000);
  await expect.poll(async () => (await requestor.get('one')).error?.code).toBe(-32602);
  const second = requestor.begin('one', 'big', { bytes: 2 });
  expect((await second.reply).result.content[0].text).toBe('xx');
  await requestor.cancel(first.id, 'one');
  expect((await requestor.get('one')).result.status).toBe('completed');
});

describe('S1686-37 S1686-38 S1686-80: the keepAlive that is shown is the one that counts', () => {
  test.each([
    ['none', {}, 24 * hour],
    ['a minute', { keepAlive: 60_000 }, 60_000],
    ['nothing, of which there is a least', { keepAlive: 0 }, 1_000],
    ['forever, of which there is a most', { keepAlive: null }, hour * 24 * 30],
    ['more than the most', { keepAlive: 1e15 }, hour * 24 * 30],
    ['a part of a millisecond', { keepAlive: 1_500.25 }, 1_501],
  ])('wished: %s', async (_, wish, keepAlive) => {
    const { requestor } = await serving({ tokens });
    const exchange = await requestor.start('one', 'ask_name', {}, wish);
    expect((await requestor.get('one')).result.keepAlive).toBe(keepAlive);
    const { id } = await exchange.next('elicitation/create');
    await requestor.answer(id, yes);
    await exchange.reply;
    expect((await requestor.get('one')).result.keepAlive).toBe(keepAlive);
  });
});

test('S1686-37: the most is what the author says', async () => {
  const { requestor } = await serving({ maxRetention: '1h' });
  await requestor.start('one', 'nap', { ms: 60_000 }, { keepAlive: 2 * hour });
  expect((await requestor.get('one')).result.keepAlive).toBe(hour);
});

test.each([-1, 'a minute', true, {}, [60_000]])('a keepAlive of %j is refused', async (keepAlive) => {
  const { requestor } = await serving();
  const { error } = await requestor.begin('one', 'nap', { ms: 1 }, { keepAlive }).reply;
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('keepAlive') });
  expect((await requestor.get('one')).error.code).toBe(-32602);
});

describe('tasks/delete', () => {
  test('S1686-61 S1686-62 S1686-63 S1686-46: of a task that is done leaves nothing of it', async () => {
    const { requestor, tasks } = await serving({ tokens });
    await requestor.begin('one', 'big', { bytes: 1 }).reply;
    const id = await newest(tasks, 'owner:ada');
    expect((await requestor.delete('one')).result).toEqual({ _meta: related('one') });
    for (const look of [requestor.get('one'), requestor.result('one'), requestor.delete('one')])
      expect((await look).error.code).toBe(-32602);
    expect(await requestor.listAll()).toEqual([]);
    expect(await tasks.get(id)).toBe(undefined);
  });

  test('S1686-62 S1686-64: of a task that is alive ends it first, and answers its request', async () => {
    const { requestor } = await serving();
    const { reply } = await requestor.start('one', 'nap', { ms: 60_000 });
    expect((await requestor.delete('one')).result).toEqual({ _meta: related('one') });
    expect((await reply).error).toMatchObject({ code: -32603, message: expect.any(String) });
    expect((await requestor.get('one')).error.code).toBe(-32602);
  });

  test('of a task that waits takes its question back', async () => {
    const { requestor } = await serving();
    const exchange = await requestor.start('one', 'ask_name');
    const { id } = await exchange.next('elicitation/create');
    await requestor.delete('one');
    const taken = await exchange.next('notifications/cancelled');
    expect(taken.params.requestId).toBe(id);
    await requestor.answer(id, yes);
    expect((await requestor.get('one')).error.code).toBe(-32602);
  });

  test('takes the subtasks along', async () => {
    const { requestor, tasks } = await serving();
    const seen = new Set<string>();
    await tasks.subscribe(({ taskId }) => seen.add(taskId));
    await requestor.start('one', 'fan_out', { children: 3, depth: 2, delayMs: 60_000 });
    await expect.poll(() => seen.size).toBe(13);
    await requestor.delete('one');
    for (const id of seen) expect(await tasks.get(id)).toBe(undefined);
  });

  test('S1686-67: of a task that nobody knows is refused', async () => {
    const { requestor } = await serving();
    expect((await requestor.delete('one')).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('one'),
    });
  });

  test('needs no metadata to be understood', async () => {
    const { requestor } = await serving();
    await requestor.begin('one', 'big', { bytes: 1 }).reply;
    const { result } = await requestor.request('tasks/delete', { taskId: 'one' });
    expect(result).toEqual({ _meta: related('one') });
  });

  test('frees the name', async () => {
    const { requestor } = await serving();
    await requestor.begin('one', 'big', { bytes: 1 }).reply;
    await requestor.delete('one');
    expect((await requestor.begin('one', 'big', { bytes: 2 }).reply).result.content[0].text).toBe('xx');
  });

  test('of many at once, one deletes and the others are told that there is no such task', async () => {
    const { requestor } = await serving();
    await requestor.start('one', 'nap', { ms: 60_000 });
    const answers = await Promise.all(Array.from({ length: 10 }, () => requestor.delete('one')));
    expect(answers.filter(({ result }) => result)).not.toHaveLength(0);
    for (const { result, error } of answers) expect(result ? 0 : error.code).toBe(result ? 0 : -32602);
    expect((await requestor.get('one')).error.code).toBe(-32602);
  });
});
