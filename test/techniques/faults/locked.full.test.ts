import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { create } from '../../../src/engine/rules/transitions.ts';
import { openSqlite } from '../../../src/sqlite.ts';
import { aTask } from '../../../src/store-testing.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { expectWithin } from '../../kit/within.ts';
import { Other } from './other.ts';

describe.each(['immediate', 'exclusive'] as const)(
  'while another process holds the file locked (%s)',
  (how) => {
    test('commands wait, the event loop does not, and then they succeed', async () => {
      const file = temporaryFile();
      const { store } = await openSqlite(file);
      const other = new Other(file);
      await other.do('lock', how, 60_000);
      const requests = Array.from({ length: 20 }, () => aTask());
      const commands = () =>
        requests.map((one) => store.create(undefined, () => create(undefined, one, Date.now())));
      const { waiting } = await expectLoopToTurnDuring(() => Promise.all(commands()));
      await other.kill();
      await waiting;
      for (const { id } of requests) expect(await store.get(id)).toBeDefined();
      await store.close();
    });

    test('tasks can be read', async () => {
      const file = temporaryFile();
      const { store } = await openSqlite(file);
      const request = aTask();
      await store.create(undefined, () => create(undefined, request, Date.now()));
      const other = new Other(file);
      await other.do('lock', how, 60_000);
      expect(await store.get(request.id)).toBeDefined();
      expect((await store.list({ owner: 'alice', limit: 10 })).tasks).toHaveLength(1);
      await other.kill();
      await store.close();
    });

    test('opening waits, the event loop does not, and then it succeeds', async () => {
      const file = temporaryFile();
      await (await openSqlite(file)).close();
      const other = new Other(file);
      await other.do('lock', how, 60_000);
      const { waiting } = await expectLoopToTurnDuring(() => openSqlite(file));
      await other.kill();
      const { store } = await waiting;
      await store.close();
    });

    test('a store that is closed finishes what it was told before', async () => {
      const file = temporaryFile();
      const { store } = await openSqlite(file);
      await new Other(file).do('lock', how, 700);
      const request = aTask();
      const made = store.create(undefined, () => create(undefined, request, Date.now()));
      await store.close();
      expect((await made).task.id).toBe(request.id);
      const again = await openSqlite(file);
      expect(await again.store.get(request.id)).toBeDefined();
      await again.close();
    });
  },
);

test('a back-up that is not yet in use is locked as any other file, and opening it waits', async () => {
  const [file, copy] = [temporaryFile(), temporaryFile()];
  const database = await openSqlite(file);
  await database.backup(copy);
  await database.close();
  const other = new Other(copy);
  await other.do('lock', 'exclusive', 60_000);
  const { waiting } = await expectLoopToTurnDuring(() => openSqlite(copy));
  await other.kill();
  await (await waiting).close();
});

/** Lets the event loop turn for a while, and expects that what was begun has not ended then. */
async function expectLoopToTurnDuring<T>(begin: () => Promise<T>): Promise<{ readonly waiting: Promise<T> }> {
  let hasEnded = false;
  const end = () => {
    hasEnded = true;
  };
  let last = performance.now();
  let longest = 0;
  const waiting = begin();
  waiting.then(end, end);
  // Attempts that held the event loop for seconds each would have given up before so many turns.
  for (let turns = 0; turns < 100; turns++) {
    await pause(5);
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }
  expect(hasEnded).toBe(false);
  expectWithin(400, longest);
  return { waiting };
}
