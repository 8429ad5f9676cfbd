/** The stream of changes: contents, resumption and memory limits. */
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { createTasks } from 'holdfast';
import { OperatorHandler } from 'holdfast/server';
import { openSqlite } from 'holdfast/sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ChangeMessage } from '../../src/operator/api.ts';
import { Changes, maxNotes, maxTasksPerMessage } from '../../src/operator/changes.ts';
import { EventBody } from '../../src/server/http/event-stream-body.ts';
import { kinds } from '../stores/kinds.ts';
import { adasToken, bobsToken, listen, operatorToken, send, stage, tools } from './stage.ts';

describe.each(kinds)('on $name', ({ place }) => {
  test('the first message has the position to resume from, and each change has the current root', async () => {
    const { tasks, api } = await stage({ place: await place() });
    const listener = await listen(api);
    expect(listener.messages).toEqual([
      { type: 'changes', id: expect.stringMatching(/^\w+\.\d+$/), tasks: [], subtasks: [], removed: [] },
    ]);
    const { id } = await tasks.create('family');
    await listener.until(() => listener.tasks.get(id)?.status === 'completed');
    // Subtasks are news of their root.
    expect([...listener.tasks.keys()]).toEqual([id]);
  });

  test('after a disconnection the reader resumes after the last message', async () => {
    const { tasks, api } = await stage({ place: await place(), works: false });
    const first = await listen(api);
    const heard = await tasks.create('greet', { name: 'heard' });
    await first.until(() => first.tasks.has(heard.id));
    first.close();
    const missed = await tasks.create('greet', { name: 'missed' });
    const second = await listen(api, operatorToken, first.lastId);
    await second.until(() => second.tasks.has(missed.id));
    expect(second.messages.every(({ type }) => type === 'changes')).toBe(true);
    expect(second.tasks.has(heard.id)).toBe(false);
  });

  test('changes by another process are included', async () => {
    const at = await place();
    const here = await stage({ place: at, works: false });
    const elsewhere = await stage({ place: at, works: false });
    const listener = await listen(here.api);
    const { id } = await elsewhere.tasks.create('greet', { name: 'Ada' });
    await listener.until(() => listener.tasks.has(id));
    await elsewhere.act(id, 'cancel');
    await listener.until(() => listener.tasks.get(id)?.status === 'cancelled');
    await elsewhere.act(id, 'purge');
    await listener.until((messages) =>
      messages.some((one) => one.type === 'changes' && one.removed.includes(id)),
    );
  });
});

test.each(['another.3', 'rubbish', '.', `${'a'.repeat(12)}.1`])(
  'a reader with the unknown last id "%s" receives a reset',
  async (lastId) => {
    const { api } = await stage({ works: false });
    expect((await listen(api, operatorToken, lastId)).messages).toEqual([
      { type: 'reset', id: expect.any(String) },
    ]);
  },
);

test('a number from before a restart, or from the future, leads to a reset', async () => {
  const { api } = await stage({ works: false });
  const [incarnation] = (await listen(api)).lastId.split('.');
  const future = await listen(api, operatorToken, `${incarnation}.999`);
  expect(future.messages[0]!.type).toBe('reset');
  const next = await stage({ works: false });
  const restarted = await listen(next.api, operatorToken, `${incarnation}.0`);
  expect(restarted.messages[0]!.type).toBe('reset');
});

/** Changes without HTTP, so that the test controls when the next message is read. */
async function followed() {
  const tasks = createTasks({ store: () => openSqlite('memory:'), tools });
  onTestFinished(() => tasks.close());
  const changes = new Changes(tasks);
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const messages = changes.follow({}, { signal: abort.signal });
  const next = async () => (await messages.next()).value as ChangeMessage;
  await next();
  const make = (count: number) =>
    Promise.all(Array.from({ length: count }, () => tasks.create('greet', { name: 'Ada' })));
  return { tasks, changes, next, make, abort, messages };
}

test('changes of one task are combined, and one message contains as many tasks as fit', async () => {
  const { tasks, next, make } = await followed();
  const made = await make(maxTasksPerMessage);
  for (const { id } of made) await tasks.cancel(id);
  const message = await next();
  if (message.type !== 'changes') throw new Error('It was a reset.');
  expect(message.tasks.map(({ id, status }) => [id, status])).toEqual(
    made.map(({ id }) => [id, 'cancelled']),
  );
});

test('more changes than fit become a reset, and later changes arrive again', async () => {
  const { next, make } = await followed();
  await make(maxTasksPerMessage + 1);
  expect((await next()).type).toBe('reset');
  const [one] = await make(1);
  expect(await next()).toMatchObject({ type: 'changes', tasks: [{ id: one!.id }] });
});

test('notes are bounded for a slow reader, which then receives a reset', async () => {
  const { changes, next, make } = await followed();
  for (let n = 0; n < 12; n++) await make(1_000);
  expect(changes.size).toBe(maxNotes);
  expect((await next()).type).toBe('reset');
});

test('calls that were answered directly cause no message', async () => {
  const { tasks, next, make } = await followed();
  await tasks.work();
  const requests = await tasks.requests();
  for (let n = 0; n < 10; n++) {
    const { id } = await tasks.create('greet', { name: 'Ada' }, { unpublished: true });
    await tasks.outcome(id);
    await requests.discard(id);
  }
  const open = await tasks.create('approve', {}, { unpublished: true });
  const [published] = await make(1);
  const message = await next();
  expect(message).toMatchObject({
    type: 'changes',
    tasks: [{ id: open.id, plainCall: true }, { id: published!.id }],
    removed: [],
  });
});

test('a task is read once for many readers', async () => {
  const { tasks, changes, next, make } = await followed();
  const { signal } = new AbortController();
  const others = Array.from({ length: 9 }, () => changes.follow({}, { signal }));
  for (const other of others) await other.next();
  const made = await make(20);
  const reads = vi.spyOn(tasks, 'get');
  const messages = await Promise.all([next(), ...others.map(async (other) => (await other.next()).value)]);
  for (const message of messages) expect(message).toMatchObject({ type: 'changes' });
  expect(messages[9]).toEqual(messages[0]);
  expect(reads).toHaveBeenCalledTimes(made.length);
});

test('a reader that disconnects is not waited for', async () => {
  const { abort, messages } = await followed();
  const next = messages.next();
  abort.abort();
  expect(await next).toEqual({ done: true, value: undefined });
});

test('at most one message is buffered for a reader that reads nothing', async () => {
  const tasks = createTasks({ store: () => openSqlite('memory:'), tools });
  const handler = new OperatorHandler(tasks, { operator: { token: operatorToken } });
  let response: ServerResponse | undefined;
  const server = createServer((req, res) => {
    response = res;
    handler.node(req, res);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const reader = connect(port, '127.0.0.1').pause();
  onTestFinished(async () => {
    reader.destroy();
    await handler.close();
    server.close();
    await tasks.close();
  });
  reader.write(
    `GET /operator/api/changes HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${operatorToken}\r\n\r\n`,
  );
  await expect.poll(() => response?.headersSent).toBe(true);
  // Large rows, so that what the machine itself buffers for a connection is soon full.
  const owner = 'x'.repeat(1_000);
  const round = async () => {
    await Promise.all(Array.from({ length: 100 }, () => tasks.create('greet', { name: 'Ada' }, { owner })));
    await new Promise((resolve) => setTimeout(resolve, 200));
    return response!.socket!.bytesWritten;
  };
  let handedOver = 0;
  // The machine takes no more once nothing has moved for some rounds.
  for (let still = 0; still < 4; ) {
    const now = await round();
    still = now === handedOver && response!.writableNeedDrain ? still + 1 : 0;
    handedOver = now;
  }
  // Megabytes of changes, of which at most one message is made.
  const oneMessage = maxTasksPerMessage * 2_500;
  for (let more = 0; more < 10; more++) {
    expect((await round()) - handedOver).toBeLessThan(oneMessage);
    expect(response!.writableLength).toBeLessThan(oneMessage);
  }
});

test('an idle stream sends heartbeats', async () => {
  const events = new EventBody(() => {}, 1);
  const { value } = await events.stream.getReader().read();
  expect(new TextDecoder().decode(value)).toBe(': keepalive\n\n');
  events.end();
});

test('the number of streams is limited', async () => {
  const { api } = await stage({ works: false });
  const listeners = await Promise.all(Array.from({ length: 64 }, () => listen(api)));
  const changes = () => send(`${api}/changes`, { token: operatorToken });
  expect(await changes()).toMatchObject({ status: 503, headers: { 'retry-after': '10' } });
  listeners[0]!.close();
  await expect
    .poll(() =>
      listen(api).then(
        () => 'open',
        () => 'refused',
      ),
    )
    .toBe('open');
});

test('a caller cannot use up the streams of the operator or other callers', async () => {
  const { api } = await stage({ works: false });
  await Promise.all(Array.from({ length: 8 }, () => listen(api, adasToken)));
  const more = await send<{ error: { message: string } }>(`${api}/changes`, { token: adasToken });
  expect(more).toMatchObject({ status: 503, headers: { 'retry-after': '10' } });
  expect(more.body.error.message).toContain('at most 8 per caller');
  await listen(api, bobsToken);
  await listen(api);
});

test('a server that stops ends the streams', async () => {
  const tasks = createTasks({ store: () => openSqlite('memory:'), tools });
  const handler = new OperatorHandler(tasks, { operator: { token: operatorToken } });
  const server = createServer(handler.node).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const ended = send(`http://127.0.0.1:${port}/operator/api/changes`, { token: operatorToken });
  await expect.poll(() => handler.streams).toBe(1);
  await handler.close();
  expect((await ended).status).toBe(200);
  expect(handler.streams).toBe(0);
  server.close();
  await tasks.close();
});
