import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as rules from '../../src/engine/rules/transitions.ts';
import { claimTasks } from '../../src/engine/worker/claiming.ts';
import { openPostgres } from '../../src/postgres.ts';
import { aTask } from '../../src/testing/fixtures.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { StoreCommands } from '../../src/testing/stores/store-commands.ts';
import { type PostgresServer, query, startPostgres } from './server.ts';

let server: PostgresServer;
let url: string;
const tools = [{ tool: 'publish_report', version: '1' }];
const claim = (database: Awaited<ReturnType<typeof openPostgres>>, clock: ManualClock) =>
  claimTasks(database, { tools, limit: 9, leaseMs: 15_000, now: () => clock.now() });

beforeAll(async () => {
  server = await startPostgres();
  url = await server.createDatabase();
});
afterAll(() => server.stop());

test.each([
  [
    'a wrong password',
    (right: URL) => (right.password = 'wrong-secret'),
    /rejected the user or the password/,
  ],
  ['a database that is not there', (right: URL) => (right.pathname = '/nowhere'), /no such database/],
  ['a server that is not there', (right: URL) => (right.port = '1'), /cannot be reached \(ECONNREFUSED\)/],
  ['a machine that is not there', (right: URL) => (right.hostname = 'nowhere.invalid'), /Check the host/],
])('%s is said in a sentence that says what to do and never the password', async (_, spoil, words) => {
  const wrong = new URL(url);
  spoil(wrong);
  const error: Error = await openPostgres(wrong.href).then(
    () => new Error('It was opened.'),
    (refused) => refused,
  );
  expect(error).toMatchObject({ code: 'STORE_NOT_OPENED' });
  expect(error.message).toMatch(words);
  expect(error.message).not.toContain(wrong.password);
});

test('a user who may make no schema is told what to grant', async () => {
  await query(url, `create role visitor login password 'visitor'`);
  const as = new URL(url);
  as.username = as.password = 'visitor';
  await expect(openPostgres(as.href)).rejects.toThrow(/grant create on database/);
});

test('processes that open a new database at the same time all can', async () => {
  const fresh = await server.createDatabase();
  const opened = await Promise.all([1, 2, 3, 4].map(() => openPostgres(fresh)));
  const task = await new StoreCommands(opened[0]!, new ManualClock()).create();
  expect(await opened[3]!.store.get(task.id)).toEqual(task);
  await Promise.all(opened.map((one) => one.close()));
});

test('names with characters that Postgres cannot store stay what they are, and stay apart', async () => {
  const database = await openPostgres(url);
  const { store, sessions, secrets } = database;
  const clock = new ManualClock();
  const odd = ['a\u0000b', 'a\\0000b', 'a\ud800', 'a\udc00', 'a\ufffd', '\\', '\\\\', '🌊'];
  for (const text of odd) {
    const request = aTask({
      id: `id ${text}`,
      owner: text,
      tool: text,
      toolVersion: text,
      arguments: { [text]: text },
      idempotency: { key: text, argumentsDigest: text },
    });
    await store.create({ owner: text, tool: text, key: text }, (existing) =>
      rules.create(existing, request, clock.now()),
    );
    await sessions.save({ id: text, owner: text, opening: { text }, seenAt: 1 });
  }
  expect(new Set(await Promise.all(odd.map(async (text) => String(await secrets.get(text))))).size).toBe(
    odd.length,
  );
  for (const text of odd) {
    expect((await store.list({ owner: text, limit: 9 })).tasks.map(({ id }) => id)).toEqual([`id ${text}`]);
    expect(await store.journal(`id ${text}`)).toEqual([{ arguments: { [text]: text } }]);
    expect(await sessions.get(text)).toEqual({ id: text, owner: text, opening: { text }, seenAt: 1 });
    const claimed = await claimTasks(database, {
      ...{ tools: [{ tool: text, version: text }], limit: 9 },
      ...{ leaseMs: 15_000, now: () => clock.now() },
    });
    expect(claimed.map(({ task }) => task.id)).toEqual([`id ${text}`]);
  }
  await database.close();
});

test('a task that is ready by the clock of another machine is ready here too', async () => {
  const [early, late] = [new ManualClock(), new ManualClock()];
  early.advance(60_000);
  const ahead = await openPostgres(url, { clock: early, schema: 'clocks' });
  const behind = await openPostgres(url, { clock: late, schema: 'clocks' });
  const task = await new StoreCommands(ahead, early).create();
  expect((await claim(behind, late)).map((one) => one.task.id)).toEqual([task.id]);
  await Promise.all([ahead.close(), behind.close()]);
});

test('a server that crashes under load loses nothing that was acknowledged, and does nothing twice', async () => {
  const clock = new ManualClock();
  const [writer, reader] = await Promise.all([1, 2].map(() => openPostgres(url, { schema: 'crash' })));
  const heard = new Map<string, number[]>();
  reader!.store.subscribe(({ taskId, version }) => {
    heard.set(taskId, [...(heard.get(taskId) ?? []), version]);
  });
  let isOver = false;
  const lanes = Array.from({ length: 12 }, async () => {
    const { task, claim } = await new StoreCommands(writer!, clock).claimed();
    let entries = 0;
    while (!isOver)
      await writer!.store.update('task', task.id, (now) =>
        rules.record(now, claim, [++entries], clock.now()),
      );
    return { id: task.id };
  });
  for (const how of ['immediate', 'fast', 'immediate'] as const) {
    await pause(300);
    await server.restart(how);
  }
  await pause(300);
  await query(url, 'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()');
  await pause(300);
  isOver = true;
  for (const { id } of await Promise.all(lanes)) {
    const { version } = (await reader!.store.get(id))!;
    const [, ...entries] = (await reader!.store.journal(id)) as number[];
    // A rule may be asked again, and then counts on; what it recorded grows, and every version has one.
    expect(entries).toHaveLength(version - 2);
    expect(entries).toEqual(entries.toSorted((a, b) => a - b));
    expect(new Set(entries).size).toBe(entries.length);
    while (heard.get(id)?.at(-1) !== version) await pause(20);
    expect(heard.get(id)).toEqual(Array.from({ length: version }, (_, n) => n + 1));
  }
  await Promise.all([writer!.close(), reader!.close()]);
});
