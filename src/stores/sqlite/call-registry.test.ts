import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { testCallRegistry } from '../../testing/stores/test-call-registry.ts';
import { sqliteCallRegistry } from './call-registry.ts';
import { connect } from './driver.ts';
import { openSqlite } from './open.ts';

function folder(): string {
  return mkdtempSync(join(tmpdir(), 'holdfast-handles-'));
}

/** Overwrites everything after the first page. */
function overwrite(path: string): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(statSync(path).size - 4_096, 'garbage '), 0, undefined, 4_096);
  closeSync(file);
}

const damages: readonly [string, (path: string) => void][] = [
  ['overwritten', overwrite],
  ['truncated', (path) => truncateSync(path, 4_096)],
  ['not a database', (path) => writeFileSync(path, 'This is not a database. '.repeat(1_000))],
];

describe.each(damages)('the registry in a SQLite file (which gets %s)', (_, damage) => {
  testCallRegistry({
    test,
    place: () => {
      const place = folder();
      const path = join(place, 'deeper', 'handles.db');
      return {
        open: () => sqliteCallRegistry(path),
        damage: () => damage(path),
        remove: () => rmSync(place, { recursive: true }),
      };
    },
  });
});

describe('the registry in a SQLite database in memory', () => {
  const notKept = 'a database in memory belongs to one connection';
  testCallRegistry({
    test,
    place: () => ({ open: () => sqliteCallRegistry('memory:'), remove: () => {} }),
    notKept,
  });
});

function temporary(): string {
  const place = folder();
  onTestFinished(() => rmSync(place, { recursive: true }));
  return place;
}

const record = {
  server: 's',
  method: 'tools/call',
  params: {},
  idempotencyKey: '',
  createdAt: 0,
  answers: {},
  isDelivered: false,
};

test('two processes that save at the same time lose nothing', async () => {
  const path = join(temporary(), 'handles.db');
  const mine = sqliteCallRegistry(path);
  const program = `
    import { sqliteCallRegistry } from ${JSON.stringify(new URL('call-registry.ts', import.meta.url).href)};
    const handles = sqliteCallRegistry(${JSON.stringify(path)});
    console.log('ready');
    for (let n = 0; n < 100; n++) handles.save({ ...${JSON.stringify(record)}, id: 'theirs ' + n });
    handles.close();`;
  const other = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(other.stdout, 'data');
  for (let n = 0; n < 100; n++) mine.save({ ...record, id: `mine ${n}` });
  const [code] = await once(other, 'close');
  expect(code).toBe(0);
  const all = mine.list().map(({ id }) => id);
  expect(all).toHaveLength(200);
  const ofOne = (whose: string) => all.filter((id) => id.startsWith(whose));
  for (const whose of ['mine', 'theirs'])
    expect(ofOne(whose)).toEqual(Array.from({ length: 100 }, (_, n) => `${whose} ${n}`));
  mine.close();
});

test('the error for an unreadable record contains the file and the remedy', () => {
  const path = join(temporary(), 'handles.db');
  const handles = sqliteCallRegistry(path);
  handles.save({ ...record, id: 'a' });
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const db = new DatabaseSync(path);
  db.exec(`update handles set body = '{"half'`);
  db.close();
  expect(() => handles.get('a')).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }));
  expect(() => handles.list()).toThrow(
    `${path}: a handle in it is not readable. Restore the file from a copy, or delete it.`,
  );
  handles.close();
});

test('a closed registry throws STORE_CLOSED', () => {
  const handles = sqliteCallRegistry('memory:');
  handles.close();
  expect(() => handles.get('a')).toThrow(expect.objectContaining({ code: 'STORE_CLOSED' }));
});

test('the error for a path that cannot be opened contains the path', () => {
  const place = temporary();
  mkdirSync(join(place, 'handles.db'));
  expect(() => sqliteCallRegistry(join(place, 'handles.db'))).toThrow(
    /handles\.db: the database cannot be opened/,
  );
});

test('a database of another program is refused and stays unchanged', () => {
  const place = folder();
  onTestFinished(() => rmSync(place, { recursive: true }));
  const file = join(place, 'songs.db');
  const theirs = connect(file);
  onTestFinished(() => theirs.close());
  theirs.exec('create table songs (title text)');
  expect(() => sqliteCallRegistry(file)).toThrow(/songs\.db: this is a SQLite database of another program/);
  expect(theirs.prepare('select name from sqlite_schema').all()).toMatchObject([{ name: 'songs' }]);
});

test('a database from before the first release is refused and stays unchanged', () => {
  const file = join(temporary(), 'tasks.db');
  const theirs = connect(file);
  onTestFinished(() => theirs.close());
  theirs.exec('create table holdfast_schema (version integer primary key)');
  expect(() => sqliteCallRegistry(file)).toThrow(
    /tasks\.db: it was created by a version of Holdfast before the first release/,
  );
  expect(theirs.prepare('select name from sqlite_schema').all()).toMatchObject([{ name: 'holdfast_schema' }]);
});

test('a registry may share the file of a store', async () => {
  const file = join(temporary(), 'tasks.db');
  await (await openSqlite(file)).close();
  const handles = sqliteCallRegistry(file);
  handles.save({ ...record, id: 'a' });
  handles.close();
  await (await openSqlite(file)).close();
});
