import { describe, expect, onTestFinished, test } from 'vitest';
import { create } from '../../src/engine/transitions.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { aTask } from '../../src/testing.ts';
import { temporaryFile } from '../kit/lifetime.ts';
import { Other } from './other.ts';

describe.each(['immediate', 'exclusive'] as const)(
  'while another process holds the file locked (%s)',
  (how) => {
    test('commands wait, the event loop does not, and then they succeed', async () => {
      const file = temporaryFile();
      const { store } = await openSqlite(file);
      await new Other(file).do('lock', how, 1_000);
      const started = performance.now();
      const stalls = watchEventLoop();
      const requests = Array.from({ length: 20 }, () => aTask());
      await Promise.all(
        requests.map((one) => store.create(undefined, () => create(undefined, one, Date.now()))),
      );
      expect(performance.now() - started).toBeGreaterThan(600);
      expect(stalls.longest()).toBeLessThan(400);
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
      await new Other(file).do('lock', how, 1_000);
      const started = performance.now();
      const stalls = watchEventLoop();
      const { store } = await openSqlite(file);
      expect(performance.now() - started).toBeGreaterThan(600);
      expect(stalls.longest()).toBeLessThan(400);
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
  await new Other(copy).do('lock', 'exclusive', 800);
  const started = performance.now();
  await (await openSqlite(copy)).close();
  expect(performance.now() - started).toBeGreaterThan(400);
});

/** How long the event loop stood still, in milliseconds. */
function watchEventLoop(): { longest(): number } {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, 5);
  onTestFinished(() => clearInterval(timer));
  return { longest: () => Math.max(longest, performance.now() - last) };
}
