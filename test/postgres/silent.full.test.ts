/**
 * A server whose machine vanishes, and a connection that cannot be made whole: neither is waited for for ever, and
 * nothing stays open.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { openPostgres } from '../../src/postgres.ts';
import { clientConfig } from '../../src/stores/postgres/connections/driver.ts';
import { Connections } from '../../src/stores/postgres/connections/pool.ts';
import { Liveness } from '../../src/stores/postgres/queue/process-liveness.ts';
import { migrate } from '../../src/stores/postgres/schema.ts';
import { freshDatabase } from './database.ts';
import { query } from './server.ts';

async function aDatabase(): Promise<string> {
  const { url, remove } = await freshDatabase();
  onTestFinished(remove);
  return url;
}

/** A way to the server on which connections can go silent; new ones are answered again, as by a server that took over. */
async function silenceable(url: string): Promise<{ url: string; silence(): void }> {
  const pairs: [Socket, Socket][] = [];
  const target = new URL(url);
  const port = Number(target.port);
  const way = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) socket.on('error', () => {});
    near.pipe(far).pipe(near);
    pairs.push([near, far]);
  });
  way.listen(0, '127.0.0.1');
  await once(way, 'listening');
  onTestFinished(() => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    way.close();
  });
  target.port = String((way.address() as AddressInfo).port);
  const silence = () => {
    for (const [near, far] of pairs) {
      near.unpipe(far);
      far.unpipe(near);
      far.destroy();
    }
  };
  return { url: target.href, silence };
}

test('a connection on which no answer comes is given up for another', async () => {
  const { url, silence } = await silenceable(await aDatabase());
  const pool = new pg.Pool({ ...clientConfig(url, { statementMs: 1_000, answerMs: 100 }), max: 1 });
  const connections = new Connections(pool, 'here');
  onTestFinished(() => connections.close());
  const backend = () => connections.query<{ pid: number }>('select pg_backend_pid() as pid');
  const [before] = await backend();
  silence();
  const [after] = await backend();
  expect(after!.pid).not.toBe(before!.pid);
  const inTransaction = connections.transact((one) => one.query('select 1'));
  silence();
  expect(await inTransaction).toHaveLength(1);
});

test('an answer is waited for for longer than the server may take, and for ever only if the server may', () => {
  const { query_timeout: longest } = clientConfig('postgres:', { statementMs: 30_000 });
  expect(longest).toBeGreaterThan(30_000);
  expect(clientConfig('postgres:', { statementMs: 0 })).not.toHaveProperty('query_timeout');
});

/** A line on connections that are counted; each waits until `admit` lets it through. */
async function aLine(admit: () => Promise<void> = async () => {}) {
  const url = await aDatabase();
  await (await openPostgres(url)).close();
  const connections = new Connections(new pg.Pool(clientConfig(url, { statementMs: 30_000 })), 'here');
  onTestFinished(() => connections.close());
  const count = { opened: 0, ended: 0 };
  const connect = async () => {
    await admit();
    const client = new pg.Client(url);
    client.on('error', () => {});
    client.on('end', () => void count.ended++);
    await client.connect();
    count.opened++;
    return client;
  };
  const line = new Liveness({ connections, schema: 'holdfast', connect });
  onTestFinished(() => line.close());
  return { url, line, count };
}

test('a line that cannot be made whole leaves no connection open', async () => {
  const { url, line, count } = await aLine();
  await query(url, 'drop table holdfast.processes');
  await expect(line.start()).rejects.toThrow('processes');
  await expect.poll(() => count).toEqual({ opened: 1, ended: 1 });
});

test('nor does one that is closed while it is being opened again', async () => {
  let tries = 0;
  const [asked, admitted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { url, line, count } = await aLine(async () => {
    const isFirst = tries++ === 0;
    if (isFirst) return;
    asked.resolve();
    await admitted.promise;
  });
  await line.start();
  await query(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`,
  );
  await asked.promise;
  await line.close();
  admitted.resolve();
  await expect.poll(() => count).toEqual({ opened: 2, ended: 2 });
});

test('who waits for another to migrate large tables waits for longer than a statement may take', async () => {
  const url = await aDatabase();
  const config = clientConfig(url, { statementMs: 1_000, answerMs: 100 });
  const connections = new Connections(new pg.Pool(config), 'here');
  const migrating = new pg.Client(url);
  await migrating.connect();
  onTestFinished(() => migrating.end());
  onTestFinished(() => connections.close());
  await migrating.query(`select pg_advisory_lock(hashtextextended('holdfast tables', 0))`);
  const migrated = migrate(connections, 'tables', 'here').then(
    () => 'migrated',
    (error: Error) => error.message,
  );
  const waiting = `select 1 from pg_stat_activity where datname = current_database()
    and wait_event = 'advisory' and query_start < clock_timestamp() - interval '1200 ms'`;
  await Promise.race([migrated, expect.poll(async () => (await migrating.query(waiting)).rowCount).toBe(1)]);
  await migrating.query('select pg_advisory_unlock_all()');
  expect(await migrated).toBe('migrated');
});
