/** Whose a task is: to everyone else it does not exist. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Place } from './place.ts';
import { accept, type RawClient, type Reply, type Subscription } from './raw-client.ts';
import { type HttpProcess, serveFixture } from './server-process.ts';

/** Of the same shape as a real one. */
const unknown = 'a'.repeat(32);
const answer = { name: accept({ name: 'Eve' }) };

describe('with bearer tokens', () => {
  const place = new Place();
  let server: HttpProcess;
  let alice: RawClient;
  let bob: RawClient;
  let taskId: string;
  beforeAll(async () => {
    server = await serveFixture('--store', `sqlite:${place.database}`, '--tokens', 'a=alice,a2=alice,b=bob');
    [alice, bob] = [server.client({ token: 'a' }), server.client({ token: 'b' })];
    taskId = (await alice.call('ask_name')).result.taskId;
    await alice.until(taskId, 'input_required');
  });
  afterAll(() => server.kill());

  const methods: [string, (client: RawClient, id: string) => Promise<Reply>][] = [
    ['tasks/get', (client, id) => client.get(id)],
    ['tasks/update', (client, id) => client.update(id, answer)],
    ['tasks/update with answers that do not fit', (client, id) => client.update(id, { name: {} })],
    ['tasks/update without answers', (client, id) => client.open('tasks/update', { taskId: id }).reply],
    ['tasks/cancel', (client, id) => client.cancel(id)],
  ];

  test.each(methods)('%s of a task of another looks as if there were none (S2663-98)', async (_, send) => {
    const [foreign, absent] = [await send(bob, taskId), await send(bob, unknown)];
    expect(foreign.error).toMatchObject({ code: -32602 });
    expect(foreign).toEqual(saying(absent, unknown, taskId));
    expect((await alice.get(taskId)).result).toMatchObject({ status: 'input_required' });
  });

  test('a subscription to a task of another is acknowledged as one to nothing (S2663-98, S2663-99)', async () => {
    const own = (await bob.call('ask_name')).result.taskId;
    const subscriptions = [await bob.listen([taskId, own]), await bob.listen([unknown, own])];
    const [foreign, absent] = await Promise.all(subscriptions.map(acknowledgement));
    expect(foreign).toEqual(absent);
    expect(foreign).toMatchObject({ notifications: { taskIds: [own] } });
  });

  test('a subscription hears nothing of a task of another (S2663-98)', async () => {
    const [mine, own] = [
      (await alice.call('ask_name')).result.taskId,
      (await bob.call('ask_name')).result.taskId,
    ];
    const subscription = await bob.listen([mine, own]);
    await alice.update(mine, answer);
    await alice.until(mine, 'completed');
    await bob.update(own, answer);
    const told: unknown[] = [];
    await subscription.find(({ params }) => {
      if (params?.taskId) told.push(params.taskId);
      return params?.status === 'completed';
    });
    expect(new Set(told)).toEqual(new Set([own]));
    subscription.close();
  });

  test('a finished task is no more visible to others than a live one (S2663-98)', async () => {
    const { taskId: done } = (await alice.call('nap', { ms: 0 })).result;
    await alice.until(done, 'completed');
    expect(await bob.get(done)).toEqual(saying(await bob.get(unknown), unknown, done));
  });

  test('the same owner reaches its task with another token', async () => {
    expect((await server.client({ token: 'a2' }).get(taskId)).result).toMatchObject({ taskId });
  });

  test.each([
    ['no token', {}],
    ['a token that nobody knows', { token: 'c' }],
  ])('%s is refused before anything else (S2663-98)', async (_, options) => {
    const reply = await server.client(options).get(taskId);
    expect(reply).toMatchObject({ status: 401 });
  });
});

describe('without tokens', () => {
  test('whoever has the id reaches the task, on another connection and after a restart (S2663-97)', async () => {
    const place = new Place();
    const store = ['--store', `sqlite:${place.database}`];
    const first = await serveFixture(...store);
    const { taskId } = (await first.client().call('ask_name')).result;
    expect((await first.client().get(taskId)).result).toMatchObject({ taskId });
    expect(await first.kill('SIGTERM')).toEqual({ code: 0, signal: null });

    const second = await serveFixture(...store);
    expect((await second.client().get(taskId)).result).toMatchObject({ taskId, status: 'input_required' });
    await second.client().update(taskId, answer);
    expect(await second.client().until(taskId, 'completed')).toMatchObject({
      result: { content: [{ text: 'Hello, Eve!' }] },
    });
  });

  test('a task of an owner is not reached by a caller without a token on the same store (S2663-98)', async () => {
    const place = new Place();
    const store = ['--store', `sqlite:${place.database}`];
    const guarded = await serveFixture(...store, '--tokens', 'a=alice');
    const { taskId } = (await guarded.client({ token: 'a' }).call('ask_name')).result;
    const open = (await serveFixture(...store)).client();
    expect(await open.get(taskId)).toEqual(saying(await open.get(unknown), unknown, taskId));
  });
});

/** The same reply about another id. */
function saying(reply: Reply, id: string, other: string): Reply {
  return JSON.parse(JSON.stringify(reply).replaceAll(id, other)) as Reply;
}

async function acknowledgement(subscription: Subscription): Promise<unknown> {
  const message = await subscription.next();
  expect(message?.method).toBe('notifications/subscriptions/acknowledged');
  subscription.close();
  const { _meta, ...params } = message!.params!;
  return params;
}
