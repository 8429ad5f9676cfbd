/** Thousands of tasks at the same time: some that ask, some with subtasks that ask, and some that sleep. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import type { JsonObject } from '../../../src/model/json.ts';
import { inLanes, times } from '../../kit/lanes.ts';
import { Peer } from './peer.ts';
import type { WireTask } from './protocol.ts';
import type { ServerUnderLoad } from './under-load.ts';

const connections = 64;

interface Called {
  readonly taskId: string;
  readonly answers: JsonObject;
  readonly says: string;
}

/** All of them are alive before the first of them ends, and each ends as it should. */
export async function expectManyToLiveAndEnd(server: ServerUnderLoad, count: number): Promise<void> {
  const peer = new Peer(server.url, { connections });
  const called = await callAll(peer, count);
  expect(await server.ask('held')).toMatchObject({ connections });
  const ends = await seeThrough(peer, called);
  peer.close();
  expect(new Set(called.map(({ taskId }) => taskId)).size).toBe(count);
  expect(ends.map(said)).toEqual(called.map(({ says }) => `completed: ${says}`));
  expect(livedAtTheSameTime(ends)).toBe(true);
}

async function callAll(peer: Peer, count: number): Promise<Called[]> {
  const started = performance.now();
  // These live for as long as nobody answers …
  const asking = await inLanes(times(count * 0.7), connections, (n) => askName(peer, `Ada ${n}`));
  const fans = await inLanes(times(count * 0.02), connections, () => fanOut(peer));
  // … and these must sleep until the last of them has been made, however slow the machine is.
  const perTask = (performance.now() - started) / (asking.length + fans.length);
  const naps = times(count - asking.length - fans.length);
  const napMs = Math.max(2_000, Math.ceil(4 * naps.length * perTask));
  return [...asking, ...fans, ...(await inLanes(naps, connections, () => nap(peer, napMs)))];
}

/** Looks at all of them, as often as they say, and answers those that ask, until each is done. */
async function seeThrough(peer: Peer, called: readonly Called[]): Promise<WireTask[]> {
  const ends = new Map<string, WireTask>();
  for (let left = called; left.length > 0; left = left.filter(({ taskId }) => !ends.has(taskId))) {
    const next = pause(1_000);
    await inLanes(left, connections, async ({ taskId, answers }) => {
      const task = await peer.get(taskId);
      if (task.status === 'input_required') await peer.update(taskId, answers);
      else if (task.status !== 'working') ends.set(taskId, task);
    });
    await next;
  }
  return called.map(({ taskId }) => ends.get(taskId)!);
}

/** True if there was a moment at which every one of them had been made and none was done. */
function livedAtTheSameTime(ends: readonly WireTask[]): boolean {
  const lastMade = Math.max(...ends.map(({ createdAt }) => Date.parse(createdAt)));
  const firstDone = Math.min(...ends.map(({ lastUpdatedAt }) => Date.parse(lastUpdatedAt)));
  return lastMade < firstDone;
}

function said({ status, result }: WireTask): string {
  const { content } = result as { content: readonly { text: string }[] };
  return `${status}: ${content[0]!.text}`;
}

async function askName(peer: Peer, name: string): Promise<Called> {
  const { taskId } = await peer.call('ask_name');
  return { taskId, answers: { name: { action: 'accept', content: { name } } }, says: `Hello, ${name}!` };
}

async function fanOut(peer: Peer): Promise<Called> {
  const { taskId } = await peer.call('fan_out', { children: 2, depth: 1, delayMs: 0, ask: true });
  const yes: JsonObject = { action: 'accept', content: { confirm: true } };
  return { taskId, answers: { '1/confirm': yes, '2/confirm': yes }, says: 'parent 1 2' };
}

async function nap(peer: Peer, ms: number): Promise<Called> {
  const { taskId } = await peer.call('nap', { ms });
  return { taskId, answers: {}, says: 'woke' };
}
