/** Callers without a token: nothing but the id protects their tasks, so the ids are strong and the tasks short-lived. */
import { readFileSync } from 'node:fs';
import { durableTool } from 'holdfast';
import { openSqlite } from 'holdfast/sqlite';
import { ManualClock } from 'holdfast/testing';
import { describe, expect, test } from 'vitest';
import { flagging, serving } from '../dialects/drafts/peer.ts';
import { Peer } from '../dialects/revision-2025-11-25/peer.ts';
import { Peer as LaterPeer, withTasks } from '../dialects/revision-2026-07-28/peer.ts';
import { Requestor } from '../dialects/sep-1686/requestor.ts';

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000] as const;
const tokens = { 'token-of-ada': 'ada' };
const reply = async () => ({ content: [] });
const tools = [
  durableTool('usual', { description: 'x', task: 'always', deadline: '1h' }, reply),
  durableTool('brief', { description: 'x', task: 'always', deadline: '1h', retention: '5m' }, reply),
  durableTool('lasting', { description: 'x', task: 'always', deadline: '1h', retention: '7d' }, reply),
];

describe.each([
  ['without a token', undefined, { usual: hour, brief: 5 * minute, lasting: hour, most: hour }],
  ['with one', 'token-of-ada', { usual: day, brief: 5 * minute, lasting: 7 * day, most: 30 * day }],
])('S2025-98: %s', (_, token, kept) => {
  const open = () => serving({ more: tools, drafts: 'all', ...(token && { tokens }) });

  test.each(['usual', 'brief', 'lasting'] as const)(
    'a task of a tool whose retention is %s',
    async (name) => {
      const { url, tasks } = await open();
      const peer = new Peer(url, { capabilities: flagging('sep-2229'), ...(token && { token }) });
      await peer.open();
      const { taskId } = (await peer.call(name)).result.task;
      expect((await tasks.get(taskId))!.retention).toEqual({ from: 'finish', ms: kept[name] });
    },
  );

  test.each([
    ['a minute', minute, minute],
    ['a year', 365 * day, kept.most],
  ])('a task for which its caller wishes %s', async (_, ttl, granted) => {
    const { url } = await open();
    const peer = new Peer(url, token === undefined ? {} : { token });
    await peer.open();
    const { task } = (await peer.call('usual', {}, { task: { ttl } })).result;
    expect(task.ttl).toBe(granted);
  });

  test.each([
    ['a minute', minute, minute],
    ['forever', null, kept.most],
    ['nothing of that kind', undefined, kept.usual],
  ])('a task that its caller named, and for which it wishes %s', async (_, keepAlive, granted) => {
    const { url } = await open();
    const peer = new Peer(url, token === undefined ? {} : { token });
    await peer.open();
    const requestor = new Requestor(peer);
    await requestor.begin('mine', 'usual', {}, keepAlive === undefined ? {} : { keepAlive }).reply;
    expect((await requestor.get('mine')).result.keepAlive).toBe(granted);
  });
});

test('S2025-98: how long tasks of callers without a token are kept can be set, and they are gone then', async () => {
  const clock = new ManualClock(Date.now());
  const { url } = await serving({
    more: tools,
    anonymousRetention: '10m',
    clock,
    store: () => openSqlite('memory:', { clock }),
  });
  const peer = new LaterPeer(url, withTasks);
  const taskId = await peer.start('lasting');
  await peer.until(taskId, 'completed');
  clock.advance(9 * minute);
  expect((await peer.get(taskId)).result.status).toBe('completed');
  clock.advance(2 * minute);
  await expect.poll(async () => (await peer.get(taskId)).error?.code).toBe(-32602);
});

test('S2025-97, S2663-96: ids are at least 128 bits of chance: of many none is like another in any place', async () => {
  const { url, tasks } = await serving({ more: tools });
  const peer = new LaterPeer(url, withTasks);
  const ids = await Promise.all(Array.from({ length: 400 }, () => peer.start('usual')));
  expect(new Set(ids).size).toBe(ids.length);
  const session = new Peer(url);
  await session.open();
  for (const id of [...ids, session.sessionId!]) expect(id).toMatch(/^[a-z2-7]{32}$/);
  // Each place after the moment takes each of its 32 values about as often: 26 such places are enough for 128 bits.
  for (let place = 3; place < 32; place++) {
    const values = Map.groupBy(ids, (id) => id[place]!);
    expect(values.size).toBeGreaterThan(28);
    expect(Math.max(...[...values.values()].map((same) => same.length))).toBeLessThan(45);
  }
  // Neither do they follow each other in the order in which they were made.
  const made = (await tasks.list({ owner: 'anonymous', limit: 400 })).tasks.map(({ id }) => id.slice(3));
  const rises = made.filter((id, i) => i > 0 && id > made[i - 1]!).length;
  expect(rises).toBeGreaterThan(130);
  expect(rises).toBeLessThan(270);
});

test('S1686-77, S2025-96: the docs explain what does not bind a task to its creator, and it is true', async () => {
  for (const page of ['SECURITY.md', 'docs/serving.md'])
    expect(readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')).toMatch(
      /anyone who learns (it|its id) can read, answer and cancel/i,
    );
  const { url } = await serving({ more: tools });
  const taskId = await new LaterPeer(url, withTasks).start('ask_name');
  const stranger = new Peer(url);
  await stranger.open();
  expect((await stranger.get(taskId)).result).toMatchObject({ taskId });
});
