/** What somebody finds who reads every column and every file of a Postgres, and what a wrong key opens. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { create } from '../../src/engine/rules/transitions.ts';
import { openPostgres, postgres } from '../../src/postgres.ts';
import { aTask } from '../../src/store-testing.ts';
import { withCode } from '../kit/with-code.ts';
import { type PostgresServer, query, startPostgres } from '../postgres/server.ts';
import { expectWhole, Host } from './hosting.ts';
import { encryption, keyOf } from './keys.ts';
import { type Place, places, secretIn } from './secrets.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres({ fsync: false });
});
afterAll(() => server.stop());

/** Every row of every table of a database. */
async function columnsOf(url: string): Promise<string> {
  const tables = await query(
    url,
    `select schemaname || '.' || tablename as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  expect(tables.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['holdfast.tasks', 'holdfast.audit']),
  );
  const rows = await Promise.all(
    tables.map(({ name }) => query(url, `select t::text as row from ${name} t`)),
  );
  return rows
    .flat()
    .map(({ row }) => row)
    .join('\n');
}

async function foundInColumns(url: string): Promise<Place[]> {
  const text = await columnsOf(url);
  return places.filter((place) => text.includes(secretIn(place)));
}

/** In every file below the data directory; those of the log of changes apart, if they are not wanted. */
async function foundInFiles({ log = true } = {}): Promise<Place[]> {
  await query(server.url, 'checkpoint');
  const [row] = await query(server.url, 'show data_directory');
  const folder = row!.data_directory as string;
  const found = new Set<Place>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || (!log && entry.parentPath.includes('pg_wal'))) continue;
    const bytes = readFileSync(join(entry.parentPath, entry.name));
    for (const place of places) if (bytes.includes(secretIn(place))) found.add(place);
  }
  return places.filter((place) => found.has(place));
}

// First: what the others write as plain text stays in the log of changes.
test('with encryption no planted secret is in any column or any file, the log of changes included', async () => {
  const url = await server.createDatabase();
  const first = await Host.open({ file: url, keys: ['first'] });
  await first.do('work');
  const id = await first.do('confide');
  expect(await foundInColumns(url)).toEqual([]);
  await first.kill();
  const second = await Host.open({ file: url, keys: ['first'] });
  await second.do('work');
  expect(await second.do('again')).toBe(id);
  expectWhole(await second.do('answer', id));
  await second.close();
  expect(await foundInColumns(url)).toEqual([]);
  expect(await foundInFiles()).toEqual([]);
});

test('without it nearly every one is found as it is: the search can find them', async () => {
  const url = await server.createDatabase();
  const host = await Host.open({ file: url, keys: [] });
  await host.do('work');
  expectWhole(await host.do('answer', await host.do('confide')));
  await host.close();
  expect(await foundInColumns(url)).toEqual(places);
  // Large values are compressed by the server, unless the bytes begin with what is looked for.
  expect((await foundInFiles()).length).toBeGreaterThan(20);
  await query(server.url, `drop database ${new URL(url).pathname.slice(1)} (force)`);
});

test('a database that was plain holds none in its columns once it is rewritten, however often that was killed', async () => {
  const url = await server.createDatabase();
  const plain = await Host.open({ file: url, keys: [] });
  await plain.do('work');
  const id = await plain.do('confide');
  await plain.do('count', 60, 5, 0).then((ids) => plain.do('outcomes', ids));
  await plain.kill();
  expect(await foundInColumns(url)).not.toEqual([]);
  let kills = 0;
  for (; kills < 8 && (await foundInColumns(url)).length > 0; kills++) {
    const host = await Host.open({ file: url, keys: ['first'] });
    await Promise.race([host.do('rekey'), pause(5 + kills * 60)]);
    await host.kill();
  }
  expect(kills).toBeGreaterThan(1);
  const host = await Host.open({ file: url, keys: ['first'] });
  await host.do('rekey');
  expect(await foundInColumns(url)).toEqual([]);
  await host.do('work');
  expect(await host.do('again')).toBe(id);
  expectWhole(await host.do('answer', id));
  await host.close();
  // What the server has only forgotten goes when its files are written anew.
  await query(url, 'vacuum full');
  expect(await foundInFiles({ log: false })).toEqual([]);
});

test('encryption that is switched off gives everything back, and the database opens without keys', async () => {
  const url = await server.createDatabase();
  const encrypted = await Host.open({ file: url, keys: ['first'] });
  await encrypted.do('work');
  const id = await encrypted.do('confide');
  await encrypted.close();
  const between = await Host.open({ file: url, keys: ['first'], current: null });
  await between.do('rekey');
  await between.close();
  const plain = await Host.open({ file: url, keys: [] });
  await plain.do('work');
  expect(await plain.do('again')).toBe(id);
  expectWhole(await plain.do('answer', id));
  await plain.close();
  expect(await foundInColumns(url)).toEqual(places);
});

test.each([
  ['without keys', undefined, 'it is encrypted (with first)'],
  ['without the right id', encryption('second'), 'key first is missing'],
  [
    'with another key under the id',
    { keys: { first: keyOf('other') }, current: 'first' },
    'key first is wrong',
  ],
  [
    'with the wrong key to switch it off',
    { keys: { first: keyOf('other') }, current: null },
    'key first is wrong',
  ],
])('opening is refused %s, and changes nothing', async (_, given, message) => {
  const url = await server.createDatabase();
  const database = await openPostgres(url, { encryption: encryption('first') });
  const secret = await database.secrets.get('states');
  await database.close();
  const before = await columnsOf(url);
  const opening = openPostgres(url, given ? { encryption: given } : {});
  await expect(opening).rejects.toThrow(withCode('STORE_NOT_UNLOCKED'));
  await expect(opening).rejects.toThrow(message);
  expect(await columnsOf(url)).toBe(before);
  const again = await openPostgres(url, { encryption: encryption('first') });
  expect(await again.secrets.get('states')).toEqual(secret);
  await again.close();
});

test('what is no key is refused where it is given, without a word of the password', () => {
  const given = { keys: { a: 'correct horse battery staple' }, current: 'a' };
  expect(() => postgres('postgres://me:hunter2@127.0.0.1/x', { encryption: given })).toThrow('not 32 bytes');
  expect(() => postgres('postgres://me:hunter2@127.0.0.1/x', { encryption: given })).not.toThrow('hunter2');
});

test('who switches encryption on waits for what is being written as plain text, and rewrites it', async () => {
  const url = await server.createDatabase();
  await (await openPostgres(url)).close();
  const writer = new pg.Client(url);
  await writer.connect();
  await writer.query('begin; lock table holdfast.commits in row exclusive mode');
  await writer.query(
    `insert into holdfast.sessions (id, owner, opening, seen_at) values ('a', 'alice', '{"name":"late"}', 1)`,
  );
  let isOpen = false;
  const opening = openPostgres(url, { encryption: encryption('first') }).finally(() => {
    isOpen = true;
  });
  const waits = `select 1 from pg_stat_activity where wait_event = 'relation' and datname = current_database()`;
  while ((await query(url, waits)).length === 0) await pause(20);
  expect(isOpen).toBe(false);
  await writer.query('commit');
  await writer.end();
  const database = await opening;
  await database.rekey();
  expect(await database.sessions.get('a')).toMatchObject({ opening: { name: 'late' } });
  expect(await columnsOf(url)).not.toContain('late');
  await database.close();
});

test('a command that waits while a key is introduced is not written with the older key', async () => {
  const url = await server.createDatabase();
  const old = await openPostgres(url, { encryption: encryption('first') });
  await old.store.create(undefined, () => create(undefined, aTask(), 1));
  const introducing = new pg.Client(url);
  await introducing.connect();
  await introducing.query('begin; lock table holdfast.commits in exclusive mode');
  const command = old.store.create(undefined, () => create(undefined, aTask(), 1));
  command.catch(() => {});
  const waits = `select 1 from pg_stat_activity where wait_event = 'relation' and datname = current_database()`;
  while ((await query(url, waits)).length === 0) await pause(20);
  await introducing.query(`
    update holdfast.encryption set revision = 'another',
      record = jsonb_set(record::jsonb, '{keys}', record::jsonb -> 'keys' || '{"id":"second","proof":""}');
    commit`);
  await introducing.end();
  await expect(command).rejects.toThrow('key second is missing');
  expect(await query(url, 'select count(*)::int as n from holdfast.tasks')).toEqual([{ n: 1 }]);
  await old.close();
});

test('several processes re-encrypt the same database at the same time', async () => {
  const url = await server.createDatabase();
  const hosts = await Promise.all(
    [1, 2].map(() => Host.open({ file: url, keys: ['first', 'second'], current: 'first' })),
  );
  await hosts[0]!.do('work');
  await hosts[0]!.do('count', 60, 5, 0).then((ids) => hosts[0]!.do('outcomes', ids));
  const third = await Host.open({ file: url, keys: ['first', 'second'] });
  const reports = await Promise.all([...hosts, third].map((host) => host.do('rekey')));
  for (const report of reports) expect(report).toMatchObject({ newest: 'second', left: 0 });
  for (const host of [...hosts, third]) await host.close();
  await (await openPostgres(url, { encryption: encryption('second') })).close();
});

test.each([
  ['cut short', 'left(opening, 60)'],
  [
    'changed',
    `overlay(opening placing case substr(opening, 50, 1) when 'A' then 'B' else 'A' end from 50 for 1)`,
  ],
  ['plain text', `'{"name":"forged"}'`],
  ['of another', `(select opening from holdfast.sessions other where other.id = 'b')`],
])('a value that is %s is reported as damage, and never returned', async (_, forged) => {
  const url = await server.createDatabase();
  const database = await openPostgres(url, { encryption: encryption('first') });
  for (const id of ['a', 'b'])
    await database.sessions.save({ id, owner: 'alice', opening: { name: id }, seenAt: 1 });
  await query(url, `update holdfast.sessions set opening = ${forged} where id = 'a'`);
  await expect(database.sessions.get('a')).rejects.toThrow(withCode('STORE_CORRUPT'));
  expect(await database.sessions.get('b')).toMatchObject({ opening: { name: 'b' } });
  await database.close();
});
