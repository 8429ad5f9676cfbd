/** A wrong key opens nothing and changes nothing; a value that was tampered with is never returned. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import * as rules from '../../src/engine/rules/transitions.ts';
import { type Encryption, openSqlite, sqlite } from '../../src/sqlite.ts';
import { aTask } from '../../src/store-testing.ts';
import { temporaryFile } from '../kit/lifetime.ts';
import { withCode } from '../kit/with-code.ts';
import { encryption, keyOf } from './keys.ts';

const holder = { name: 'somebody', leaseMs: 3_600_000 };
const large = { text: 'x'.repeat(300_000) };

/** Two tasks of the same kind, done, each with a journal and a large result. */
async function filled(): Promise<{ file: string; ids: [string, string] }> {
  const file = temporaryFile();
  const { store, sessions, secrets, close } = await openSqlite(file, { encryption: encryption('first') });
  const requests = [aTask({ arguments: { n: 1 } }), aTask({ arguments: { n: 2 } })] as const;
  for (const request of requests) {
    const claim = { taskId: request.id, epoch: 1 };
    const outcome = { kind: 'result', isError: false, value: { ...large, id: request.id } } as const;
    await store.create(undefined, () => rules.create(undefined, request, Date.now(), holder));
    await store.update('task', request.id, (task) => rules.record(task, claim, [{ value: 1 }], Date.now()));
    await store.update('lineage', request.id, (around) => rules.complete(around, claim, outcome, Date.now()));
    await sessions.save({ id: request.id, owner: 'alice', opening: { id: request.id }, seenAt: 1 });
  }
  await secrets.get('states');
  await secrets.get('cursors');
  await close();
  return { file, ids: [requests[0].id, requests[1].id] };
}

describe('opening is refused, and leaves the file as it was,', () => {
  test.each<[string, Encryption | undefined, string]>([
    ['without keys', undefined, 'it is encrypted (with first)'],
    ['without the right id', encryption('second'), 'key first is missing'],
    [
      'with another key under the id',
      { keys: { first: keyOf('other') }, current: 'first' },
      'key first is wrong',
    ],
    [
      'with a wrong key beside a new one',
      { keys: { first: keyOf('other'), second: keyOf('second') }, current: 'second' },
      'key first is wrong',
    ],
    [
      'with the wrong key to switch it off',
      { keys: { first: keyOf('other') }, current: null },
      'key first is wrong',
    ],
  ])('%s', async (_, given, message) => {
    const { file } = await filled();
    const before = digestOf(file);
    const opening = openSqlite(file, given ? { encryption: given } : {});
    await expect(opening).rejects.toThrow(withCode('STORE_NOT_UNLOCKED'));
    await expect(opening).rejects.toThrow(message);
    await expect(opening).rejects.toThrow(file);
    expect(digestOf(file)).toBe(before);
    expect(existsSync(`${file}-instances`)).toBe(false);
    await (await openSqlite(file, { encryption: encryption('first') })).close();
  });
});

describe('what is no key is refused before anything is made:', () => {
  test.each<[string, Encryption, string]>([
    ['too short', { keys: { a: new Uint8Array(31) }, current: 'a' }, 'key a is not 32 bytes'],
    ['a passphrase', { keys: { a: 'correct horse battery staple' }, current: 'a' }, 'key a is not 32 bytes'],
    ['hex cut short', { keys: { a: 'ab'.repeat(31) }, current: 'a' }, 'key a is not 32 bytes'],
    [
      'an id that is not there',
      { keys: { a: keyOf('a') }, current: 'b' },
      'the current key b is not among the keys',
    ],
    ['an id with a blank', { keys: { 'a b': keyOf('a') }, current: 'a b' }, '"a b" is not a valid key id'],
  ])('%s', async (_, given, message) => {
    const file = temporaryFile();
    const opening = openSqlite(file, { encryption: given });
    await expect(opening).rejects.toThrow(withCode('STORE_NOT_UNLOCKED'));
    await expect(opening).rejects.toThrow(message);
    await expect(opening).rejects.not.toThrow('correct horse');
    expect(existsSync(file)).toBe(false);
    expect(() => sqlite(file, { encryption: given })).toThrow(message);
  });
});

test.each(['', '{', 'null', '{}', '{"revision":"1","keys":[{}],"retired":[]}'])(
  'a record of the encryption that is damaged is reported as damage: %s',
  async (record) => {
    const { file } = await filled();
    const db = new DatabaseSync(file);
    db.prepare('update holdfast_encryption set record = ?').run(record);
    db.close();
    for (const options of [{}, { encryption: encryption('first') }])
      await expect(openSqlite(file, options)).rejects.toThrow(withCode('STORE_CORRUPT'));
  },
);

test('a key may be given as bytes, in base64 or in hex', async () => {
  const { file, ids } = await filled();
  const key = Buffer.from(keyOf('first'));
  for (const written of [
    new Uint8Array(key),
    key.toString('base64'),
    key.toString('base64url'),
    key.toString('hex'),
  ]) {
    const { store, close } = await openSqlite(file, {
      encryption: { keys: { first: written }, current: 'first' },
    });
    expect((await store.get(ids[0]))?.phase).toBe('done');
    await close();
  }
});

/** Reads everything that was written, the first task's share of it. */
async function readAll(file: string, [id]: readonly string[]): Promise<void> {
  const { store, sessions, secrets, close } = await openSqlite(file, { encryption: encryption('first') });
  try {
    await store.get(id!);
    await store.list({ owner: 'alice', limit: 10 });
    await store.journal(id!);
    await sessions.get(id!);
    await secrets.get('states');
  } finally {
    await close();
  }
}

test('a file that nobody touched is read whole', async () => {
  const { file, ids } = await filled();
  await readAll(file, ids);
});

/** Each change of one value that its reader must notice. */
const swaps = [
  ['tasks.body', 'update tasks set body = (select body from tasks as other where other.seq = 3 - tasks.seq)'],
  [
    'results.value',
    'update results set value = (select value from results as other where other.task = 3 - results.task)',
  ],
  [
    'commits.journal between tasks',
    'update commits set journal = (select journal from commits as other where other.task = 3 - commits.task and other.version = commits.version)',
  ],
  [
    'commits.journal between commits of a task',
    'update commits set journal = (select journal from commits as other where other.task = commits.task and other.version = 3 - commits.version) where version < 3',
  ],
  ['a column for another', 'update commits set journal = events where journal is not null'],
  [
    'sessions.opening',
    'update sessions set opening = (select opening from sessions as other where other.id <> sessions.id)',
  ],
  [
    'secrets.value',
    "update secrets set value = (select value from secrets as other where other.name = 'cursors') where name = 'states'",
  ],
] as const;

test.each(swaps)('values swapped between rows are reported as damage: %s', async (_, sql) => {
  const { file, ids } = await filled();
  change(file, sql);
  await expect(readAll(file, ids)).rejects.toThrow(withCode('TASK_CORRUPT', 'STORE_CORRUPT'));
});

const forgeries = [
  ['a bit of the text', (bytes: Buffer) => flip(bytes, 40)],
  ['a bit of the nonce', (bytes: Buffer) => flip(bytes, 10)],
  ['a bit of the tag', (bytes: Buffer) => flip(bytes, bytes.length - 1)],
  ['the name of the key', (bytes: Buffer) => flip(bytes, 3)],
  ['the format', (bytes: Buffer) => flip(bytes, 0)],
  ['its end', (bytes: Buffer) => bytes.subarray(0, -20)],
  ['all of it', () => Buffer.alloc(0)],
  ['a plain text in its place', () => '{"id":"mine"}'],
] as const;

test.each(forgeries)('a value of which somebody changed %s is reported as damage', async (_, forge) => {
  const { file, ids } = await filled();
  for (const [table, column, key] of [
    ['tasks', 'body', 'seq'],
    ['commits', 'journal', 'seq'],
    ['results', 'value', 'task'],
    ['sessions', 'opening', 'rowid'],
  ]) {
    const kept = value(file, `select ${column} as value from ${table} where ${key} = 1`);
    const forged = forge(Buffer.from(kept));
    change(file, `update ${table} set ${column} = ? where ${key} = 1`, forged);
    await expect(readAll(file, ids), `${table}.${column}`).rejects.toThrow(
      withCode('TASK_CORRUPT', 'STORE_CORRUPT'),
    );
    change(file, `update ${table} set ${column} = ? where ${key} = 1`, kept);
  }
  await readAll(file, ids);
});

test.each([
  ['accept', `'$.isMixed', json('true')`],
  ['write', `'$.newest', null`],
])(
  'who has no key cannot make others %s plain text by changing the record of the encryption',
  async (_, value) => {
    const { file } = await filled();
    change(file, `update holdfast_encryption set record = json_set(record, ${value})`);
    await expect(openSqlite(file, { encryption: encryption('first') })).rejects.toThrow(
      withCode('STORE_NOT_UNLOCKED'),
    );
  },
);

function flip(bytes: Buffer, at: number): Buffer {
  bytes[at]! ^= 1;
  return bytes;
}

function digestOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function change(file: string, sql: string, ...values: (string | Uint8Array)[]): void {
  const db = new DatabaseSync(file);
  db.prepare(sql).run(...values);
  db.close();
}

function value(file: string, sql: string): Uint8Array {
  const db = new DatabaseSync(file);
  const found = db.prepare(sql).get()!.value as Uint8Array;
  db.close();
  return found;
}
