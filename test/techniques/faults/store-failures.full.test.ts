/** The store fails: who is told, how soon, and what is true afterwards. */
import { join } from 'node:path';
import { createTasks, type Database, type DurableTool, durableTool, type LogEntry } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { serveHttp } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import { telemetry } from 'holdfast/telemetry';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { attached } from '../../kit/attached.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { extension, headersOf, requestOf } from '../../kit/wire.ts';
import { expectWithin } from '../../kit/within.ts';
import { type PostgresServer, startPostgres } from '../../postgres/server.ts';
import { canMount, smallDisk } from './disk.ts';
import { Other } from './other.ts';

/** Callers are told after four seconds, on a machine that has other things to do. */
const atMostMs = 5_500;

const echo = durableTool('echo', { task: 'always', inputSchema: z.looseObject({}) }, async () => 'echo');

async function serving(
  store: () => Promise<Database>,
  tools: readonly DurableTool[] = [echo as DurableTool],
) {
  const log: LogEntry[] = [];
  const errors: Error[] = [];
  const tasks = createTasks({
    store,
    tools,
    telemetry: telemetry(),
    log: (entry) => log.push(entry),
  });
  const server = await serveHttp(tasks, attached(tasks), {
    port: 0,
    health: true,
    metrics: '/metrics',
    stopOn: [],
    grace: '0s',
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => server.stop());
  const at = (path: string) => fetch(new URL(path, server.url));
  const ready = async () => (await at('/readyz')).status;
  const events = (event: string) => log.filter((entry) => entry.event === event);
  const call = (name: string, input: object = {}, takesTasks = true) =>
    post(server.url, name, input, takesTasks);
  const metrics = async () => (await at('/metrics')).text();
  return { tasks, log, errors, events, ready, call, metrics };
}

interface Answered {
  readonly result?: { readonly taskId?: string };
  readonly error?: { readonly code: number; readonly message: string };
  readonly ms: number;
}

async function post(url: string, name: string, input: object, takesTasks: boolean): Promise<Answered> {
  const started = performance.now();
  const extensions = takesTasks ? { [extension]: {} } : {};
  const params = { name, arguments: input };
  const response = await fetch(url, {
    method: 'POST',
    headers: headersOf('tools/call', params),
    body: JSON.stringify(requestOf(1, 'tools/call', params, { extensions })),
  });
  const text = await response.text();
  const json = text.startsWith('{')
    ? text
    : text
        .split('\n')
        .find((line) => line.startsWith('data: {'))!
        .slice(6);
  return { ...JSON.parse(json), ms: performance.now() - started };
}

describe.skipIf(!canMount)('on a full disk', () => {
  async function onSmallDisk(tools: readonly DurableTool[] = [echo as DurableTool]) {
    const disk = smallDisk();
    return { disk, ...(await serving(sqlite(join(disk.folder, 'tasks.db')), tools)) };
  }
  const large = { text: 'x'.repeat(20_000) };

  test('callers, onError, the log, the metrics and /readyz say so, and that it is over', async () => {
    const { disk, call, errors, events, ready, metrics } = await onSmallDisk();
    expect((await call('echo', large)).result?.taskId).toBeDefined();
    expect(await ready()).toBe(200);
    disk.fill();
    const full = performance.now();
    let refused = 0;
    for (let n = 0; n < 20; n++) {
      const { error } = await call('echo', large);
      if (!error) continue;
      refused++;
      expect(error.message).toBe(
        'The task store is not available (disk full). Nothing was changed; try again.',
      );
    }
    expect(refused).toBeGreaterThan(10);
    // Once in ten seconds, however many callers were refused.
    const most = 3 + (performance.now() - full) / 10_000;
    expect(errors.length).toBeGreaterThanOrEqual(1);
    expect(errors.length).toBeLessThanOrEqual(most);
    expect(errors[0]!.message).toContain('the disk is full');
    expect(events('storeFailed').length).toBeGreaterThanOrEqual(1);
    expect(events('storeFailed').length).toBeLessThanOrEqual(most);
    expect(events('storeFailed')[0]).toMatchObject({ level: 'error', detail: { trouble: 'full' } });
    expect(await metrics()).toMatch(/holdfast_store_failures_total\{trouble="full"\} [1-9]/);
    expect(await ready()).toBe(503);
    disk.free();
    // Nobody writes meanwhile.
    await expect.poll(ready).toBe(200);
    expect(events('storeRecovered')).toHaveLength(1);
    expect((await call('echo', large)).result?.taskId).toBeDefined();
  });

  test('a task whose step could not be recorded continues when there is space again', async () => {
    const disk = smallDisk();
    let passes = 0;
    const work = durableTool('work', { task: 'always' }, async (_, task) => {
      await task.step('fill', () => {
        if (++passes === 1) disk.fill();
        return 'x'.repeat(100_000);
      });
    });
    // If it had to wait for its lease, it would wait for half an hour.
    const failed = Promise.withResolvers<void>();
    const log = ({ event }: LogEntry) => event === 'storeFailed' && failed.resolve();
    const tasks = createTasks({ store: sqlite(join(disk.folder, 'tasks.db')), tools: [work], log });
    onTestFinished(() => tasks.close());
    await tasks.work({ lease: '10m' });
    const { id } = await tasks.create(work);
    await failed.promise;
    disk.free();
    expect(await tasks.outcome(id)).toMatchObject({ kind: 'result' });
    expect(passes).toBe(2);
  });

  test('the caller of work that could not be recorded is told at once', async () => {
    const disk = smallDisk();
    const fill = durableTool('fill', { task: 'never' }, async (_, task) => {
      await task.step('fill', () => {
        disk.fill();
        return 'x'.repeat(100_000);
      });
      return 'filled';
    });
    const { tasks, call, events } = await serving(sqlite(join(disk.folder, 'tasks.db')), [fill]);
    await tasks.work();
    const { error, ms } = await call('fill', {}, false);
    expect(error?.message).toMatch(
      /^The task store is not available \(disk full\)\. Some of the work was done/,
    );
    expect(error?.message).not.toContain(disk.folder);
    expectWithin(atMostMs, ms);
    expect(events('storeFailed')).not.toEqual([]);
    disk.free();
  });
});

test('while another program holds the file locked, a call is refused within seconds and never carried out', async () => {
  const file = temporaryFile();
  const { tasks, call, ready, events } = await serving(sqlite(file));
  expect((await call('echo')).result?.taskId).toBeDefined();
  const other = new Other(file);
  await other.do('lock', 'immediate', 60_000);
  const { error, ms } = await call('echo');
  expect(error?.message).toMatch(/^The task store is not available .* Nothing was changed; try again\.$/);
  expectWithin(atMostMs, ms);
  await expect.poll(ready).toBe(503);
  expect(events('storeFailed')).not.toEqual([]);
  await other.kill();
  await expect.poll(ready).toBe(200);
  const { store } = await tasks.opened();
  // What this call asked for was committed after what the other one had asked for.
  expect((await call('echo')).result?.taskId).toBeDefined();
  expect(await store.count(undefined, 'stored', 10)).toBe(2);
});

describe('with a Postgres that is down', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({ fsync: false });
  });
  afterAll(() => server.stop());

  test('a crash that nobody else notices is in the log', async () => {
    const { call, events, ready } = await serving(postgres(await server.createDatabase()));
    await call('echo');
    await server.restart('immediate');
    await expect
      .poll(() => events('storeFailed')[0])
      .toMatchObject({
        level: 'error',
        detail: { trouble: 'unreachable' },
      });
    await expect.poll(ready).toBe(200);
    expect((await call('echo')).result?.taskId).toBeDefined();
  });

  test('callers are told within seconds, nothing is carried out later, and all goes on when it is back', async () => {
    const { tasks, call, ready, events, metrics } = await serving(postgres(await server.createDatabase()));
    await tasks.work();
    const { result } = await call('echo');
    await server.restart('immediate', async () => {
      const [called, looked] = await Promise.all([
        call('echo'),
        tasks.requests().then(async (requests) => {
          const started = performance.now();
          const error: Error = await requests.task(result!.taskId!).then(
            () => new Error('It was found.'),
            (failed) => failed,
          );
          return { error, ms: performance.now() - started };
        }),
      ]);
      expect(called.error?.message).toMatch(/^The task store is not available \(not reachable\)\./);
      expectWithin(atMostMs, called.ms);
      expect(looked.error.message).toContain('has not answered');
      expectWithin(atMostMs, looked.ms);
      await expect.poll(ready).toBe(503);
      expect(events('storeFailed')[0]).toMatchObject({ detail: { trouble: 'unreachable' } });
      expect(await metrics()).toMatch(/holdfast_store_failures_total\{trouble="unreachable"\} [1-9]/);
    });
    await expect.poll(ready).toBe(200);
    expect(events('storeRecovered')).not.toEqual([]);
    await expect.poll(async () => (await call('echo')).result?.taskId).toBeDefined();
    const { store } = await tasks.opened();
    expect(await store.count(undefined, 'stored', 10)).toBe(2);
  });
});
