import { expect, test, vi } from 'vitest';
import type { Suspicion } from '../engine/observer.ts';
import { OverLimit } from '../protocol/errors.ts';

import { ManualClock } from '../testing/manual-clock.ts';
import { created } from '../testing/notebook.ts';
import { anonymous } from './caller.ts';
import { Eagerness, Misses } from './suspicion.ts';

const hintMs = 1_000;

/** A task that asks for a look a second, and who looks at it. */
function watched(timesHint: number, { pollMs = hintMs } = {}) {
  const clock = new ManualClock();
  const reports: Suspicion[] = [];
  const eagerness = new Eagerness(timesHint, (one) => reports.push(one));
  const task = { ...created({}, clock.now()), pollMs };
  /** How many of so many looks are answered, with a pause behind each. */
  const looks = (times: number, pauseMs: number) => {
    let answered = 0;
    for (let n = 0; n < times; n++) {
      try {
        eagerness.add(task, { now: clock.now() });
        answered++;
      } catch (error) {
        expect(error).toMatchObject({ limit: 'pollsPerHint' });
      }
      clock.advance(pauseMs);
    }
    return answered;
  };
  return { clock, reports, eagerness, task, looks };
}

test('S1686-86, S2025-111: a task that is polled far more often than its hint asks is reported, once a minute', () => {
  const { reports, looks, task } = watched(20);
  looks(1_200, 10);
  expect(reports).toEqual([]);
  looks(4_799, 10);
  expect(reports).toMatchObject([{ pattern: 'eagerPolls', owner: task.owner, task: task.id, count: 1_201 }]);
  looks(6_000, 10);
  expect(reports).toHaveLength(2);
});

test('then it is answered in the rhythm of the hint, until the minute is over', () => {
  const { looks, clock, eagerness, task } = watched(20);
  looks(1_200, 10);
  // Twelve seconds have passed; in the ten that follow it is answered ten times.
  expect(looks(1_000, 10)).toBe(10);
  const error = (() => {
    try {
      eagerness.add(task, { now: clock.now() });
      eagerness.add(task, { now: clock.now() });
      return undefined;
    } catch (refused) {
      return refused as OverLimit;
    }
  })();
  expect(error).toBeInstanceOf(OverLimit);
  expect(error!.message).toContain('once in 1000 ms is enough');
  expect(error!.retryAfterMs).toBe(hintMs);
  clock.advance(error!.retryAfterMs!);
  expect(looks(1, 0)).toBe(1);
  clock.advance(60_000);
  expect(looks(1_200, 10)).toBe(1_200);
});

test('ten looks a second are never too many, however seldom the hint asks for them', () => {
  const { looks, reports } = watched(1, { pollMs: 3_600_000 });
  expect(looks(6_000, 100)).toBe(6_000);
  expect(reports).toEqual([]);
});

test('looks at many tasks are no looks at one', () => {
  const { clock, eagerness, reports, task } = watched(1);
  for (let n = 0; n < 20_000; n++) eagerness.add({ ...task, id: `task ${n % 2_000}` }, { now: clock.now() });
  expect(reports).toEqual([]);
});

const from = (owner: string, address?: string) => ({ owner, address: () => address });

test('S1686-86, S2025-111: failed looks are reported when there have been too many, and refused from then on', async () => {
  const reports: Suspicion[] = [];
  const misses = new Misses(3, (one) => reports.push(one));
  for (let n = 0; n < 2; n++) await misses.add(from('ada'), 7);
  expect(reports).toEqual([]);
  await misses.add(from('ada'), 7);
  expect(reports).toEqual([{ pattern: 'failedLooks', owner: 'ada', count: 3, at: 7 }]);
  await expect(misses.add(from('ada'), 7)).rejects.toMatchObject({ limit: 'failedLooksPerMinute' });
  await misses.add(from('bob'), 7);
  expect(reports).toHaveLength(1);
});

test('callers without a token are told apart by where they come from, others are not', async () => {
  const reports: Suspicion[] = [];
  const misses = new Misses(1, (one) => reports.push(one));
  await misses.add(from(anonymous, '192.0.2.1'), 0);
  await misses.add(from(anonymous, '192.0.2.2'), 0);
  await expect(misses.add(from(anonymous, '192.0.2.1'), 0)).rejects.toBeInstanceOf(OverLimit);
  expect(reports.map(({ address }) => address)).toEqual(['192.0.2.1', '192.0.2.2']);
  await misses.add(from('ada', '192.0.2.1'), 0);
  await expect(misses.add(from('ada', '192.0.2.9'), 0)).rejects.toBeInstanceOf(OverLimit);
  expect(reports.at(-1)).not.toHaveProperty('address');
});

test('after a minute failed looks are forgotten', async () => {
  vi.useFakeTimers();
  try {
    const misses = new Misses(1, () => {});
    await misses.add(from('ada'), 0);
    const { retryAfterMs } = await misses.add(from('ada'), 0).catch((error) => error);
    vi.advanceTimersByTime(retryAfterMs - 1);
    await expect(misses.add(from('ada'), 0)).rejects.toBeInstanceOf(OverLimit);
    vi.advanceTimersByTime(1);
    await misses.add(from('ada'), 0);
  } finally {
    vi.useRealTimers();
  }
});
