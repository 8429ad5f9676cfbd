/** New keys while work goes on, in processes that know of them sooner or later. */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import * as rules from '../../src/engine/rules/transitions.ts';
import { aTask } from '../../src/store-testing.ts';
import { seededRandom, seedOfThisRun } from '../kit/random.ts';
import { withCode } from '../kit/with-code.ts';
import { query } from '../postgres/server.ts';
import { isPostgres, kinds, open } from '../stores/kinds.ts';
import { Host } from './hosting.ts';
import { encryption } from './keys.ts';

const steps = 12;
const sum = String((steps * (steps + 1)) / 2);

describe.each(kinds)('on $name', ({ place }) => {
  test('keys rotate twice under a worker that goes on working, and nothing is lost', async () => {
    const file = await place();
    const all = ['first', 'second', 'third'];
    const worker = await Host.open({ file, keys: all, current: 'first' });
    await worker.do('work');
    const ids = await worker.do('count', 40, steps, 5);
    const done = worker.do('outcomes', ids);
    for (const current of ['second', 'third']) {
      const other = await Host.open({ file, keys: all, current });
      ids.push(...(await other.do('count', 5, steps, 5)));
      await other.do('rekey');
      await other.close();
      expect(await keysUsedIn(file)).toEqual([current]);
    }
    await done;
    const outcomes = await worker.do('outcomes', ids);
    expect(outcomes.map((outcome) => textOf(outcome))).toEqual(ids.map(() => sum));
    await worker.close();

    const { store, close } = await open(file, { encryption: encryption('third') });
    for (const id of ids) {
      expect((await store.get(id))?.phase).toBe('done');
      expect((await store.journal(id)).length).toBeGreaterThan(1);
    }
    await close();
  });

  test('while values stand under an older key, it cannot be left out', async () => {
    const file = await place();
    const before = await open(file, { encryption: encryption('first') });
    await before.secrets.get('states');
    await before.close();
    const opening = open(file, { encryption: encryption('second') });
    await expect(opening).rejects.toThrow(withCode('STORE_NOT_UNLOCKED'));
    await expect(opening).rejects.toThrow(withCode('STORE_NOT_UNLOCKED'));
    const both = await open(file, { encryption: encryption('first', 'second') });
    await both.rekey();
    const secret = await both.secrets.get('states');
    await both.close();
    const after = await open(file, { encryption: encryption('second') });
    expect(await after.secrets.get('states')).toEqual(secret);
    await after.close();
  });

  test('a key that was retired is not written with again, whoever names it', async () => {
    const file = await place();
    await (await open(file, { encryption: encryption('first') })).close();
    const both = await open(file, { encryption: encryption('first', 'second') });
    await both.rekey();
    await both.close();
    const late = await open(file, { encryption: { ...encryption('second', 'first'), current: 'first' } });
    await late.secrets.get('states');
    await late.close();
    expect(await keysUsedIn(file)).toEqual(['second']);
  });

  test('a process without the new key is told so at its next command, and writes nothing', async () => {
    const file = await place();
    const old = await open(file, { encryption: encryption('first') });
    const both = await open(file, { encryption: encryption('first', 'second') });
    await expect(old.secrets.get('states')).rejects.toThrow('key second is missing');
    await expect(old.secrets.get('states')).rejects.toThrow(withCode('STORE_NOT_UNLOCKED'));
    await both.rekey();
    await both.close();
    await old.close();
    expect(await keysUsedIn(file)).toEqual(['second']);
  });

  test('a process that has the file open as plain is told so when another switches encryption on', async () => {
    const file = await place();
    const plain = await open(file);
    await plain.sessions.save({ id: 'a', owner: 'alice', opening: { name: 'plain' }, seenAt: 1 });
    const heard: unknown[] = [];
    plain.store.subscribe((notice) => heard.push(notice));
    const encrypted = await open(file, { encryption: encryption('first') });
    await encrypted.rekey();
    await encrypted.secrets.get('states');
    await encrypted.store.create(undefined, () => rules.create(undefined, aTask(), 1));
    // Time for the other's feed to look at the commit: that it cannot read it must not end its process.
    await pause(400);
    expect(heard).toEqual([]);
    await expect(plain.sessions.get('a')).rejects.toThrow(withCode('STORE_NOT_UNLOCKED'));
    await expect(plain.secrets.get('states')).rejects.toThrow(withCode('STORE_NOT_UNLOCKED'));
    const save = plain.sessions.save({ id: 'b', owner: 'alice', opening: { name: 'plain' }, seenAt: 1 });
    await expect(save).rejects.toThrow(withCode('STORE_NOT_UNLOCKED'));
    expect(await encrypted.sessions.get('b')).toBeUndefined();
    expect(await encrypted.sessions.get('a')).toMatchObject({ opening: { name: 'plain' } });
    await plain.close();
    await encrypted.close();
  });

  test('a process that writes follows when others switch encryption off, and on again', async () => {
    const file = await place();
    const stays = await open(file, { encryption: encryption('first', 'second') });
    const session = (id: string) => ({ id, owner: 'alice', opening: { name: id }, seenAt: 1 });
    await stays.sessions.save(session('a'));
    const secret = await stays.secrets.get('states');

    const off = await open(file, { encryption: { ...encryption('first', 'second'), current: null } });
    await off.rekey();
    await off.close();
    await stays.sessions.save(session('b'));
    expect(await stays.sessions.get('a')).toEqual(session('a'));
    expect(await keysUsedIn(file)).toEqual(['plain']);
    expect(await secretNamesIn(file)).toEqual(['states']);
    const plain = await open(file);
    expect(await plain.secrets.get('states')).toEqual(secret);
    await plain.close();

    const on = await open(file, { encryption: encryption('first') });
    await on.rekey();
    await on.sessions.save(session('c'));
    await on.close();
    for (const id of ['a', 'b', 'c']) expect(await stays.sessions.get(id)).toEqual(session(id));
    await stays.sessions.save(session('d'));
    expect(await keysUsedIn(file)).toEqual(['first']);
    await stays.close();
  });

  test('a fleet rotates its keys: each process at its own stage, and the old key removed at the end', async () => {
    const file = await place();
    const old = await Host.open({ file, keys: ['a'] });
    const prepared = await Host.open({ file, keys: ['a', 'b'], current: 'a' });
    await old.do('work');
    await prepared.do('work');
    const ids = await old.do('count', 20, steps, 2);
    await old.do('outcomes', ids);
    expect(await keysUsedIn(file)).toEqual(['a']);

    // The first process with b as its current key introduces it: from here on, who has only a writes nothing.
    const rotated = await Host.open({ file, keys: ['a', 'b'] });
    await expect(old.do('count', 1, steps, 0)).rejects.toThrow(
      'key b is missing: new values are encrypted with it',
    );
    await expect(Host.open({ file, keys: ['a'] })).rejects.toThrow('key b is missing');
    expect(await old.do('get', ids[0]!)).toMatchObject({ phase: 'done' });
    await old.kill();

    // Who has both writes with b, whichever is current, while old values are re-encrypted.
    const later = [
      ...(await prepared.do('count', 20, steps, 2)),
      ...(await rotated.do('count', 5, steps, 2)),
    ];
    expect(await keysUsedIn(file)).toEqual(['a', 'b']);
    await expect(Host.open({ file, keys: ['b'] })).rejects.toThrow('key a is missing');
    const report = await rotated.do('rekey');
    expect(report).toMatchObject({ newest: 'b', left: 0, keys: [{ id: 'b' }] });
    expect(report.rewritten).toBeGreaterThan(0);
    const outcomes = await rotated.do('outcomes', [...ids, ...later]);
    expect(outcomes.map((outcome) => textOf(outcome))).toEqual(outcomes.map(() => sum));
    expect(await rotated.do('rekey')).toMatchObject({ rewritten: 0, left: 0 });
    expect(await keysUsedIn(file)).toEqual(['b']);
    await prepared.close();
    await rotated.close();

    const after = await Host.open({ file, keys: ['b'] });
    expect(await after.do('get', ids[0]!)).toMatchObject({ phase: 'done' });
    await after.close();
  });

  test('a value that is left under an older key is reported, and keeps that key in use', async () => {
    const file = await place();
    const before = await open(file, { encryption: encryption('a') });
    for (const id of ['one', 'other'])
      await before.sessions.save({ id, owner: 'alice', opening: { name: id }, seenAt: 1 });
    await before.close();
    // A value that was moved to another row cannot be read, and so not be re-encrypted.
    const moved = "(select opening from sessions as other where other.id = 'other')";
    await change(file, `update sessions set opening = ${moved} where id = 'one'`);
    const both = await open(file, { encryption: encryption('a', 'b') });
    const report = await both.rekey();
    expect(report).toMatchObject({ newest: 'b', left: 1 });
    expect(report.keys).toContainEqual({ id: 'a', values: 1 });
    await expect(open(file, { encryption: encryption('b') })).rejects.toThrow(
      'key a is missing: values may still be encrypted with it',
    );
    await both.sessions.delete('one');
    expect(await both.rekey()).toMatchObject({ newest: 'b', rewritten: 0, left: 0 });
    await both.close();
    const after = await open(file, { encryption: encryption('b') });
    expect(await after.sessions.get('other')).toMatchObject({ opening: { name: 'other' } });
    await after.close();
  });

  test('an idempotency key finds its task while that is still to be rewritten', async () => {
    const file = await place();
    const plain = await open(file);
    const scope = { owner: 'alice', tool: 'publish_report', key: 'once' };
    const idempotency = { key: 'once', argumentsDigest: 'digest' };
    const ask = async (database: typeof plain) => {
      const request = aTask({ owner: 'alice', idempotency });
      const { task } = await database.store.create(scope, (existing) => rules.create(existing, request, 1));
      return task.id;
    };
    // Those that are rewritten first.
    const others = Array.from({ length: 1_000 }, () => aTask());
    await Promise.all(
      others.map((other) => plain.store.create(undefined, () => rules.create(undefined, other, 1))),
    );
    const id = await ask(plain);
    await plain.close();
    const encrypted = await open(file, { encryption: encryption('first') });
    expect(await ask(encrypted)).toBe(id);
    expect(await keysUsedIn(file)).toEqual(['first', 'plain']);
    await encrypted.rekey();
    expect(await ask(encrypted)).toBe(id);
    await encrypted.close();
  });

  test('a worker killed again and again while keys rotate replays its journals and ends every task rightly', async () => {
    const seed = seedOfThisRun();
    const random = seededRandom(seed);
    const file = await place();
    const keys = ['k1', 'k2', 'k3', 'k4', 'k5'];
    const first = await Host.open({ file, keys: ['k1'] });
    const ids = await first.do('count', 25, steps, 3);
    await first.kill();
    for (const [n, current] of keys.entries()) {
      const host = await Host.open({ file, keys, current });
      await host.do('work');
      await Promise.race([pause(random.between(20, 150)), host.do('outcomes', ids)]);
      if (n < keys.length - 1) await host.kill();
      else {
        expect((await host.do('outcomes', ids)).map((outcome) => textOf(outcome))).toEqual(
          ids.map(() => sum),
        );
        await host.do('rekey');
        await host.close();
      }
    }
    expect(await keysUsedIn(file)).toEqual(['k5']);
    await (await open(file, { encryption: encryption('k5') })).close();
  });
});

function textOf(outcome: unknown): string {
  return (outcome as { value: { content: { text: string }[] } }).value.content[0]!.text;
}

async function select(file: string, sql: string): Promise<Record<string, unknown>[]> {
  if (isPostgres(file)) return query(file, `set search_path to holdfast; ${sql}`);
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
}

async function change(file: string, sql: string): Promise<void> {
  if (isPostgres(file)) {
    await query(file, `set search_path to holdfast; ${sql}`);
    return;
  }
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
}

async function secretNamesIn(file: string): Promise<unknown[]> {
  return (await select(file, 'select name from secrets')).map(({ name }) => name);
}

/** The ids that values name, in any column. */
async function keysUsedIn(file: string): Promise<string[]> {
  const columns = [
    'select body as value from tasks',
    'select events as value from commits',
    'select journal as value from commits where journal is not null',
    'select value from results',
    'select opening as value from sessions',
    'select value from secrets',
    'select body as value from audit',
  ];
  const values = (await Promise.all(columns.map((sql) => select(file, sql)))).flat();
  return [...new Set(values.map(({ value }) => keyNamedIn(value)))].sort();
}

function keyNamedIn(value: unknown): string {
  const isMarked = typeof value === 'string' && value.startsWith('\\~');
  const bytes = isMarked ? Buffer.from(value.slice(2), 'base64') : value;
  if (!(bytes instanceof Uint8Array) || bytes.length === 32) return 'plain';
  return Buffer.from(bytes.subarray(2, 2 + bytes[1]!)).toString();
}
