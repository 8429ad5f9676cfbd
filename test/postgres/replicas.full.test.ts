import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Peer, withTasks } from '../dialects/revision-2026-07-28/peer.ts';
import { expectWithin } from '../kit/within.ts';
import { freshDatabase } from './database.ts';
import { type Replica, startReplica } from './replica.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let folder: string;
let servers: Replica[];
let workers: Replica[];
let here: Peer;
let there: Peer;

beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
  const start = (role: 'server' | 'worker') => startReplica(role, database.url);
  [servers, workers] = await Promise.all([
    Promise.all([start('server'), start('server')]),
    Promise.all([start('worker'), start('worker')]),
  ]);
  [here, there] = servers.map(({ url }) => new Peer(url, withTasks)) as [Peer, Peer];
});

afterAll(async () => {
  await Promise.all([...servers, ...workers].map((one) => one[Symbol.asyncDispose]()));
  await database.remove();
  await rm(folder, { recursive: true });
});

test('a task that one server made is polled, answered and fetched at another', async () => {
  const taskId = await here.start('ask_name');
  const asked = await there.until(taskId, 'input_required');
  expect(Object.keys(asked.inputRequests)).toEqual(['name']);
  await there.request('tasks/update', {
    taskId,
    inputResponses: { name: { action: 'accept', content: { name: 'Kelp' } } },
  });
  const done = await here.until(taskId, 'completed');
  expect(done.result.content).toEqual([{ type: 'text', text: 'Hello, Kelp!' }]);
});

test('a subscriber at one server hears to the end of a task that another made and a worker runs', async () => {
  const taskId = await here.start('ask_name');
  const inputResponses = { name: { action: 'accept', content: { name: 'Kelp' } } };
  let isAsked = false;
  let last: string | undefined;
  for await (const { method, params } of there.frames({ taskIds: [taskId] })) {
    if (method !== 'notifications/tasks') continue;
    last = params.status;
    if (last === 'completed') break;
    if (last !== 'input_required' || isAsked) continue;
    isAsked = true;
    await here.request('tasks/update', { taskId, inputResponses });
  }
  expect({ isAsked, last }).toEqual({ isAsked: true, last: 'completed' });
});

test('a task of a worker that is killed goes on at another within five seconds, and repeats no step', async () => {
  const file = join(folder, 'ledger');
  const taskId = await here.start('ledger', { file, steps: 40, delayMs: 200 });
  const pids = async () => (await lines(file)).map((line) => Number(line.split(' ')[2]));
  while ((await pids()).length < 3) await pause(20);
  const [first] = await pids();
  const killed = workers.find(({ pid }) => pid === first)!;
  killed.kill('SIGKILL');
  const since = performance.now();
  while ((await pids()).at(-1) === first) await pause(20);
  const ms = performance.now() - since;
  console.log(`Taken over after ${Math.round(ms)} ms.`);
  expectWithin(5_000, ms);
  await there.until(taskId, 'completed');
  const steps = (await lines(file)).map((line) => line.split(' ')[0]);
  // The step that was cut short may have written its line; none that was committed is there twice.
  expect(new Set(steps).size).toBe(40);
  expect(steps.length).toBeLessThanOrEqual(41);
  workers[workers.indexOf(killed)] = await startReplica('worker', database.url);
});

async function lines(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}
