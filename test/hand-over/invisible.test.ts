/** The task of a plain call, as peers see it until it is handed over: not at all, by any method of any dialect. */
import { beforeEach, describe, expect, test } from 'vitest';
import { flagging } from '../dialects/drafts/peer.ts';
import { Peer } from '../dialects/revision-2025-11-25/peer.ts';
import { taskKey } from '../dialects/sep-1686/requestor.ts';
import { RawClient } from '../serving/raw-client.ts';
import { Stage } from './stage.ts';

const ada = 'ada-has-a-token-that-nobody-guesses';
const absent = 'a'.repeat(32);
const named = { _meta: { [taskKey]: { taskId: 'another' } } };

let stage: Stage;
let id: string;
let call: ReturnType<RawClient['openCall']>;

beforeEach(async () => {
  stage = await Stage.open({ drafts: 'all', tokens: { [ada]: 'ada' } });
  const { promise: parked, resolve } = Promise.withResolvers<string>();
  await stage.tasks.subscribe(({ taskId, events }) => {
    if (events.some(({ type }) => type === 'parked')) resolve(taskId);
  });
  call = stage.raw({ token: ada }).openCall('held_auto', { word: 'tide' });
  id = await parked;
});

type Ask = (method: string, params: object) => Promise<object>;

/** A session of the same owner, of 2025-11-25 with these drafts. */
async function session(...drafts: string[]): Promise<Ask> {
  const peer = new Peer(stage.url, { capabilities: flagging(...drafts), token: ada });
  await peer.open();
  return (method, params) => peer.request(method, params);
}

/** Whatever the answer says of a task is the same for one that never existed, and the call is not disturbed. */
async function expectUnknown(ask: Ask, method: string, params: object): Promise<void> {
  const [found, missing] = [
    await ask(method, { taskId: id, ...params }),
    await ask(method, { taskId: absent, ...params }),
  ];
  const withoutIds = ({ id: _, ...rest }: { id?: unknown }) =>
    JSON.stringify(rest).replaceAll(id, 'ID').replaceAll(absent, 'ID');
  expect(found).toHaveProperty('error');
  expect(withoutIds(found)).toBe(withoutIds(missing));
  await stage.release(id);
  expect((await call.reply).result.structuredContent).toEqual({ word: 'tide' });
}

describe('on 2026-07-28', () => {
  const later: Ask = (method, params) =>
    new RawClient(stage.url, { token: ada })
      .request(method, params)
      .then(({ result, error }) => (error ? { error } : { result }));

  test.each([
    ['tasks/get', {}],
    ['tasks/update', { inputResponses: {} }],
    ['tasks/cancel', {}],
  ])('%s does not find it', (method, params) => expectUnknown(later, method, params));

  test('subscriptions/listen does not listen to it', async () => {
    const subscription = await new RawClient(stage.url, { token: ada }).listen([id]);
    const first = await subscription.next();
    expect(JSON.stringify(first)).not.toContain(id);
    await stage.release(id);
    expect((await call.reply).result.structuredContent).toEqual({ word: 'tide' });
    subscription.close();
    for (
      let heard = await subscription.next().catch(() => undefined);
      heard;
      heard = await subscription.next()
    )
      expect(JSON.stringify(heard)).not.toContain(id);
  });
});

describe.each([
  ['2025-11-25', [], ['tasks/get', 'tasks/result', 'tasks/cancel'], {}],
  ['SEP-2229', ['sep-2229'], ['tasks/get', 'tasks/result', 'tasks/cancel'], {}],
  ['SEP-2268', ['sep-2268'], ['tasks/get', 'tasks/result', 'tasks/cancel'], {}],
  ['SEP-2339', ['sep-2339'], ['tasks/get', 'tasks/continue', 'tasks/cancel'], {}],
  ['SEP-1686', [], ['tasks/get', 'tasks/result', 'tasks/delete'], named],
])('S2025-02 S2025-77 S1686-60: in %s', (_, drafts, methods, params) => {
  test.each(methods)('%s does not find it', async (method) =>
    expectUnknown(await session(...drafts), method, params),
  );

  test('tasks/list does not show it, and shows it once it is handed over', async () => {
    const ask = await session(...drafts);
    const listed = async () =>
      ((await ask('tasks/list', params)) as { result: { tasks: object[] } }).result.tasks;
    expect(await listed()).toEqual([]);
    stage.clock.advance(25_000);
    await call.reply;
    expect(await listed()).toMatchObject([{ taskId: id }]);
  });
});
