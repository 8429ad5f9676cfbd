/** What an operator does to a deployment while it works: new versions beside old ones, and processes that are told to go. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createTasks, durableTool, type Tasks } from 'holdfast';
import { openPostgres } from 'holdfast/postgres';
import { serveHttp } from 'holdfast/server';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Message, openEar, Peer } from '../dialects/revision-2025-11-25/peer.ts';
import { fixtureFactory, fixtureTasks } from '../fixture/server.ts';
import { expectWithin } from '../kit/within.ts';
import { freshDatabase } from './database.ts';
import { type Replica, startReplica } from './replica.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(() => database.remove());

/** One deployment after the other has a tool of the same name, each with a version and a handler of its own. */
const versions = ['1', '2'].map((version) =>
  durableTool('report', { version }, async (_, task) => {
    await task.step(`draft of version ${version}`, () => 'drafted');
    await task.waitForEvent('reviewed');
    return task.step(`publish as version ${version}`, () => `published by version ${version}`);
  }),
);
const [before, after] = versions as [(typeof versions)[0], (typeof versions)[0]];

/** A process of the deployment with that version of the tool, until the end of the test. */
function deployed(tool: typeof before, schema: string): Tasks {
  const tasks = createTasks({
    store: () => openPostgres(database.url, { schema, connections: 5 }),
    tools: [tool],
  });
  onTestFinished(() => tasks.close());
  return tasks;
}

async function untilDrafted(tasks: Tasks, id: string): Promise<void> {
  // Parked behind its step, in nobody's hands.
  await expect
    .poll(async () => {
      const task = await tasks.get(id);
      return task?.phase === 'running' && task.wakeAt === null;
    })
    .toBe(true);
}

test('two versions of a handler work side by side, each on the tasks that were made for it', async () => {
  const [old, renewed] = [deployed(before, 'beside'), deployed(after, 'beside')];
  await Promise.all([old, renewed].map((tasks) => tasks.work()));
  const make = async (tasks: Tasks) => (await tasks.create('report')).id;
  const made = await Promise.all(Array.from({ length: 5 }, () => Promise.all([make(old), make(renewed)])));
  // Only what nobody holds any more is offered to all.
  const isHeld = async (id: string) => 'worker' in ((await old.get(id)) ?? {});
  for (const id of made.flat()) await expect.poll(() => isHeld(id)).toBe(false);
  for (const ids of made) {
    // Whoever hears of the review may be of the other version.
    for (const [index, id] of ids.entries()) await [renewed, old][index]!.sendEvent(id, 'reviewed');
    const outcomes = await Promise.all(ids.map((id) => old.outcome(id)));
    expect(outcomes.map((outcome) => outcome.kind === 'result' && outcome.value)).toMatchObject(
      ['1', '2'].map((version) => ({ content: [{ text: `published by version ${version}` }] })),
    );
  }
});

test('a task waits for a worker that can replay it, and none that cannot lays a hand on it', async () => {
  const [old, renewed] = [deployed(before, 'alone'), deployed(after, 'alone')];
  const worker = await old.work();
  const { id } = await old.create('report');
  await untilDrafted(old, id);
  // The last process of the old version goes before its task is done.
  await worker.stop();
  await renewed.work();
  await renewed.sendEvent(id, 'reviewed');
  const left = await renewed.get(id);
  // One of its own, made later and done: the new worker has seen what there is to do.
  const other = await renewed.create('report');
  await renewed.sendEvent(other.id, 'reviewed');
  await renewed.outcome(other.id);
  expect(await renewed.get(id)).toEqual(left);
  await old.work();
  const outcome = await renewed.outcome(id);
  expect(outcome).toMatchObject({ value: { content: [{ text: 'published by version 1' }] } });
});

test('a worker that is told to go hands over between two steps: at once, and none is repeated', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'ledger');
  const lines = async () => {
    const text = await readFile(file, 'utf8').catch(() => '');
    return text.split('\n').filter((line) => line !== '');
  };
  const pidOf = (line: string | undefined) => Number(line?.split(' ')[2]);
  const maker = fixtureTasks({ store: () => openPostgres(database.url, { connections: 5 }) });
  onTestFinished(() => maker.close());
  const start = () => startReplica('worker', database.url);
  const workers: Replica[] = await Promise.all([start(), start()]);
  onTestFinished(async () => {
    await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()));
  });
  const steps = 40;
  const { id } = await maker.create('ledger', { file, steps, delayMs: 100 });
  await expect.poll(async () => (await lines()).length, { interval: 10 }).toBeGreaterThanOrEqual(3);
  const first = pidOf((await lines())[0]);
  workers.find(({ pid }) => pid === first)!.kill('SIGTERM');
  const since = performance.now();
  while (pidOf((await lines()).at(-1)) === first) await pause(10);
  const ms = performance.now() - since;
  console.log(`Handed over after ${Math.round(ms)} ms.`);
  // A third of a lease; the step that was in flight took its time too.
  expectWithin(5_000, ms);
  expect(await maker.outcome(id)).toMatchObject({ kind: 'result', isError: false });
  expect((await lines()).map((line) => Number(line.split(' ')[0]))).toEqual(
    Array.from({ length: steps }, (_, index) => index + 1),
  );
});

test('a session of 2025-11-25 goes on at any replica, whichever opened it', async () => {
  const replicas = await Promise.all([serve(true), serve(false)]);
  const [here, there] = replicas.map((url) => new Peer(url)) as [Peer, Peer];
  await here.open();
  there.sessionId = here.sessionId;
  const taskId = await here.start('ask_name');
  // It waits at one replica, and is asked there; its answer arrives at the other.
  let last: Message = {};
  for await (const message of there.result(taskId)) {
    if (message.method === 'elicitation/create')
      await here.answer(message.id, { action: 'accept', content: { name: 'Ada' } });
    last = message;
  }
  expect(last.result.content).toEqual([{ type: 'text', text: 'Hello, Ada!' }]);
  expect((await here.get(taskId)).result.status).toBe('completed');
});

test('a stream that a session has open at one replica hears of a task that it made at another, once it asks there', async () => {
  const replicas = await Promise.all([serve(false), serve(true)]);
  const [here, there] = replicas.map((url) => new Peer(url)) as [Peer, Peer];
  await here.open();
  there.sessionId = here.sessionId;
  // It stays open until the task is done: a question whose stream has closed is asked anew, and its answer is ignored.
  await using stream = await openEar(there);
  const taskId = await here.start('ask_name');
  await there.get(taskId);
  const { id } = await stream.until(({ method }) => method === 'elicitation/create');
  await here.answer(id, { action: 'accept', content: { name: 'Bob' } });
  await here.until(taskId, 'completed');
});

/** A replica with a database of its own in this process, until the end of the test; gives its address. */
async function serve(works: boolean): Promise<string> {
  const schema = 'sessions_here';
  const tasks = fixtureTasks({ store: () => openPostgres(database.url, { schema, connections: 5 }) });
  if (works) await tasks.work({ grace: '100ms' });
  const server = await serveHttp(tasks, fixtureFactory(tasks), { port: 0, grace: '1s', stopOn: [] });
  onTestFinished(() => server.stop());
  return server.url;
}
