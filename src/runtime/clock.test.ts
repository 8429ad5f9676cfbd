import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ManualClock } from '../testing/manual-clock.ts';
import { systemClock } from './clock.ts';

test('the system clock calls back when the time has come', async () => {
  const at = systemClock.now() + 20;
  await new Promise<void>((resolve) => systemClock.schedule(at, resolve));
  expect(systemClock.now()).toBeGreaterThanOrEqual(at);
});

test('the system clock never calls back early', async () => {
  let early = 0;
  await Promise.all(
    Array.from({ length: 2_000 }, async (_, index) => {
      await pause(index % 97);
      for (let round = 0; round < 3; round++) {
        const at = systemClock.now() + 1 + ((7 * index + round) % 40);
        await new Promise<void>((resolve) => systemClock.schedule(at, resolve));
        if (systemClock.now() < at) early++;
      }
    }),
  );
  expect(early).toBe(0);
});

test('a time beyond the maximum timeout of the platform does not fire at once', async () => {
  let called = false;
  const forget = systemClock.schedule(systemClock.now() + 2 ** 31 + 50, () => {
    called = true;
  });
  await new Promise<void>((resolve) => systemClock.schedule(systemClock.now() + 30, resolve));
  expect(called).toBe(false);
  forget();
});

test('a manual clock fires all due timers in order, except cancelled ones', () => {
  const clock = new ManualClock(1_000);
  const fired: [string, number][] = [];
  clock.schedule(1_020, () => fired.push(['second', clock.now()]));
  clock.schedule(1_010, () => {
    fired.push(['first', clock.now()]);
    clock.schedule(1_015, () => fired.push(['in between', clock.now()]));
  });
  clock.schedule(1_011, () => fired.push(['never', clock.now()]))();
  clock.advance(30);
  expect(fired).toEqual([
    ['first', 1_010],
    ['in between', 1_015],
    ['second', 1_020],
  ]);
  clock.advance(-500);
  expect(clock.now()).toBe(530);
});
