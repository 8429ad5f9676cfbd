/** The log in a SQLite file: nothing changes it by mistake, and with encryption only who, what and when can be read. */
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { AuditEntry } from 'holdfast';
import { openSqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { encryption } from '../encryption/keys.ts';
import { temporaryFile } from '../kit/lifetime.ts';
import { withCode } from '../kit/with-code.ts';

const entry: AuditEntry = {
  at: 1_000,
  action: 'denied',
  owner: 'ada',
  taskId: 'a',
  by: 'caller',
  session: '0123456789abcdef',
  reason: 'Because of xyzzy.',
  details: { secret: 'xyzzy' },
};

async function written(file: string, keys?: ReturnType<typeof encryption>): Promise<void> {
  const database = await openSqlite(file, keys && { encryption: keys });
  await database.audit.append([entry, { ...entry, taskId: 'b' }]);
  await database.close();
}

function byHand(file: string): DatabaseSync {
  const db = new DatabaseSync(file);
  onTestFinished(() => db.close());
  return db;
}

test.each([
  "update audit set owner = 'bob'",
  'update audit set at = 0',
  "update audit set action = 'created'",
  "update audit set task = 'c'",
  "update audit set body = '{}'",
])('no statement changes an entry: %s', async (sql) => {
  const file = temporaryFile();
  await written(file);
  const db = byHand(file);
  expect(() => db.exec(sql)).toThrow('Audit entries cannot be changed.');
});

test('no statement deletes what is not pruned', async () => {
  const file = temporaryFile();
  await written(file);
  const db = byHand(file);
  expect(() => db.exec('delete from audit')).toThrow('cannot be deleted before their retention has passed');
});

test('encrypted, nothing of reasons, details and sessions can be read in the file', async () => {
  const file = temporaryFile();
  await written(file, encryption('first'));
  const bytes = readFileSync(file, 'latin1');
  expect(bytes).not.toContain('xyzzy');
  expect(bytes).not.toContain(entry.session);
  expect(bytes).toContain('denied');
});

test('a file that is encrypted later, or under another key, keeps its log', async () => {
  const file = temporaryFile();
  await written(file);
  for (const keys of [encryption('first'), encryption('first', 'second')]) {
    const database = await openSqlite(file, { encryption: keys });
    await database.rekey();
    expect((await database.audit.read({ limit: 10 })).entries).toEqual([entry, { ...entry, taskId: 'b' }]);
    await database.close();
    expect(readFileSync(file, 'latin1')).not.toContain('xyzzy');
  }
});

test('what was said of one entry cannot be put beside another', async () => {
  const file = temporaryFile();
  await written(file, encryption('first'));
  const db = byHand(file);
  db.exec('update audit set body = (select body from audit order by seq desc limit 1) where seq = 1');
  const database = await openSqlite(file, { encryption: encryption('first') });
  onTestFinished(() => database.close());
  await expect(database.audit.read({ limit: 10 })).rejects.toThrow(withCode('STORE_CORRUPT'));
});

test.each([
  ['task', 'audit_by_task'],
  ['owner', 'audit_by_owner'],
])('entries of one %s are found by an index', async (column, index) => {
  const file = temporaryFile();
  await written(file);
  const plan = byHand(file)
    .prepare(`explain query plan select * from audit where seq > ? and ${column} = ? order by seq limit ?`)
    .all(0, 'a', 10)
    .map(({ detail }) => detail)
    .join();
  expect(plan).toContain(index);
  expect(plan).not.toContain('TEMP B-TREE');
});
