/** The registry of a host's handles takes the same keys. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { type CallRecord, sqliteCallRegistry } from '../../src/client.ts';
import { temporaryFile } from '../kit/lifetime.ts';
import { withCode } from '../kit/with-code.ts';
import { encryption, keyOf } from './keys.ts';

const secret = 's3cret-of-a-handle';

function record(id: string): CallRecord {
  return {
    id,
    server: 'reports',
    method: 'tools/call',
    params: { name: 'publish', arguments: { secret } },
    idempotencyKey: `${secret} key`,
    createdAt: 1,
    answers: { a: { secret } },
    isDelivered: false,
  };
}

test('handles are kept, found and listed under a key, and no byte of them is in the file', () => {
  const file = temporaryFile();
  const handles = sqliteCallRegistry(file, { encryption: encryption('first') });
  handles.save(record('a'));
  handles.save({ ...record('b'), isDelivered: true });
  handles.save({ ...record('a'), taskId: 'task' });
  expect(handles.get('a')).toEqual({ ...record('a'), taskId: 'task' });
  expect(handles.list({ server: 'reports', onlyOpen: true }).map(({ id }) => id)).toEqual(['a']);
  handles.close();
  expect(isIn(file)).toBe(false);
  const again = sqliteCallRegistry(file, { encryption: encryption('first') });
  expect(again.list().map(({ id }) => id)).toEqual(['a', 'b']);
  again.delete('b');
  expect(again.get('b')).toBeUndefined();
  again.close();
});

test('a registry that was plain is rewritten when it is opened with a key, and given back with null', () => {
  const file = temporaryFile();
  const plain = sqliteCallRegistry(file);
  for (let n = 0; n < 50; n++) plain.save(record(`handle ${n}`));
  plain.delete('handle 7');
  plain.close();
  expect(isIn(file)).toBe(true);
  sqliteCallRegistry(file, { encryption: encryption('first') }).close();
  expect(isIn(file)).toBe(false);
  const rotated = sqliteCallRegistry(file, { encryption: encryption('first', 'second') });
  expect(rotated.list()).toHaveLength(49);
  rotated.close();
  const second = sqliteCallRegistry(file, { encryption: encryption('second') });
  expect(second.get('handle 3')).toEqual(record('handle 3'));
  second.close();
  sqliteCallRegistry(file, { encryption: { ...encryption('second'), current: null } }).close();
  const back = sqliteCallRegistry(file);
  expect(back.get('handle 3')).toEqual(record('handle 3'));
  back.close();
});

test('a wrong key, a missing key and no key are refused', () => {
  const file = temporaryFile();
  sqliteCallRegistry(file, { encryption: encryption('first') }).close();
  expect(() => sqliteCallRegistry(file)).toThrow(withCode('STORE_NOT_UNLOCKED'));
  expect(() => sqliteCallRegistry(file, { encryption: encryption('second') })).toThrow(
    withCode('STORE_NOT_UNLOCKED'),
  );
  const wrong = { keys: { first: keyOf('other') }, current: 'first' };
  expect(() => sqliteCallRegistry(file, { encryption: wrong })).toThrow(withCode('STORE_NOT_UNLOCKED'));
  expect(() => sqliteCallRegistry(file, { encryption: { keys: { a: 'short' }, current: 'a' } })).toThrow(
    '32 bytes',
  );
});

test('a host that has it open as plain writes nothing more once another has encrypted it', () => {
  const file = temporaryFile();
  const plain = sqliteCallRegistry(file);
  plain.save(record('a'));
  const encrypted = sqliteCallRegistry(file, { encryption: encryption('first') });
  expect(() => plain.save(record('b'))).toThrow(withCode('STORE_NOT_UNLOCKED'));
  expect(() => plain.get('a')).toThrow(withCode('STORE_NOT_UNLOCKED'));
  expect(encrypted.list().map(({ id }) => id)).toEqual(['a']);
  plain.close();
  encrypted.close();
});

test('handles swapped between rows are reported as damage', () => {
  const file = temporaryFile();
  const handles = sqliteCallRegistry(file, { encryption: encryption('first') });
  handles.save(record('a'));
  handles.save(record('b'));
  handles.close();
  const db = new DatabaseSync(file);
  db.exec('update handles set body = (select body from handles as other where other.id <> handles.id)');
  db.close();
  const again = sqliteCallRegistry(file, { encryption: encryption('first') });
  expect(() => again.get('a')).toThrow(withCode('STORE_CORRUPT'));
  again.close();
});

function isIn(file: string): boolean {
  const folder = dirname(file);
  return readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(secret));
}
