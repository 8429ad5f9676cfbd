/** `holdfast store rekey` on both stores. */
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { Home } from '../cli/terminal.ts';
import { query } from '../postgres/server.ts';
import { isPostgres, kinds, open } from '../stores/kinds.ts';
import { encryption, keyOf } from './keys.ts';

const secret = 's3cret-of-a-session';

function rekey(place: string, ids: readonly string[], ...args: string[]) {
  const keys = ids.map((id) => `${id}=${Buffer.from(keyOf(id)).toString('base64')}`).join(',');
  const url = isPostgres(place) ? place : `sqlite:${place}`;
  return new Home({ HOLDFAST_KEYS: keys }).run('store', 'rekey', '--store', url, ...args);
}

async function change(place: string, sql: string): Promise<void> {
  if (isPostgres(place)) {
    await query(place, `set search_path to holdfast; ${sql}`);
    return;
  }
  const db = new DatabaseSync(place);
  db.exec(sql);
  db.close();
}

/** Two sessions, plain or under one key. */
async function filled(place: string, ...ids: string[]): Promise<void> {
  const database = await open(place, ids.length > 0 ? { encryption: encryption(...ids) } : {});
  for (const id of ['one', 'other'])
    await database.sessions.save({ id, owner: 'alice', opening: { secret, id }, seenAt: 1 });
  await database.close();
}

describe.each(kinds)('on $name', (kind) => {
  test('a plain store is encrypted, its key is replaced, and it is decrypted again', async () => {
    const place = await kind.place();
    await filled(place);
    expect(await rekey(place, ['a'])).toEqual({
      code: 0,
      stdout: 'Re-encrypted 2 values.\n3 values under a\n',
      stderr: '',
    });
    if (!isPostgres(place)) expect(readFileSync(place).includes(secret)).toBe(false);
    await expect(open(place)).rejects.toThrow('it is encrypted (with a)');

    const { code, stdout } = await rekey(place, ['b', 'a'], '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      newest: 'b',
      rewritten: 3,
      keys: [{ id: 'b', values: 3 }],
      left: 0,
    });
    const { sessions, close } = await open(place, { encryption: encryption('b') });
    expect(await sessions.get('one')).toMatchObject({ opening: { secret, id: 'one' } });
    await close();

    expect((await rekey(place, ['b'], '--decrypt')).code).toBe(0);
    const plain = await open(place);
    expect(await plain.sessions.get('other')).toMatchObject({ opening: { secret, id: 'other' } });
    await plain.close();
  });

  test('a value that is left fails the command, which reports its key', async () => {
    const place = await kind.place();
    await filled(place, 'a');
    const other = "(select opening from sessions as other where other.id = 'other')";
    await change(place, `update sessions set opening = ${other} where id = 'one'`);
    const { code, stdout, stderr } = await rekey(place, ['b', 'a']);
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: 'Re-encrypted 2 values.\n2 values under b\n1 value left under a\n',
    });
    expect(stderr).toMatch(/^holdfast: 1 value could not be re-encrypted.*\n$/);
    expect(await rekey(place, ['b'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('key a is missing: values may still be encrypted with it'),
    });
  });

  test('a wrong key changes nothing', async () => {
    const place = await kind.place();
    await filled(place, 'a');
    expect(await rekey(place, ['b'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('key a is missing: new values are encrypted with it'),
    });
    await (await open(place, { encryption: encryption('a') })).close();
  });
});

test('wrong usage is told in one sentence, and no key is repeated', async () => {
  const run = (env: NodeJS.ProcessEnv, ...args: string[]) => new Home(env).run('store', ...args);
  const cases: [NodeJS.ProcessEnv, string[], string][] = [
    [{}, ['rekey', '--store', 'sqlite:x.db'], 'HOLDFAST_KEYS is not set'],
    [{ HOLDFAST_KEYS: 'hunter2' }, ['rekey', '--store', 'sqlite:x.db'], 'not a list of ID=KEY'],
    [{ HOLDFAST_KEYS: 'a=b' }, ['rekey'], 'store rekey needs --store URL'],
    [{ HOLDFAST_KEYS: 'a=b' }, ['rekey', '--store', 'memory:'], 'memory: is private to one process'],
    [{}, ['shrink'], 'unknown command: store shrink'],
    [{}, [], 'store needs a command'],
  ];
  for (const [env, args, message] of cases) {
    const { code, stdout, stderr } = await run(env, ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).toContain('; see `holdfast store --help`.\n');
    expect(stderr).not.toContain('hunter2');
  }
  const none = await run({ HOLDFAST_KEYS: `a=${'A'.repeat(43)}` }, 'rekey', '--store', 'sqlite:x.db');
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no store at x.db') });
  expect((await run({}, '--help')).stdout).toContain('Usage: HOLDFAST_KEYS=ID=KEY');
});
