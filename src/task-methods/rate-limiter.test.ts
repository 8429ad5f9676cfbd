import { expect, test } from 'vitest';
import { OverLimit } from '../dialects/errors.ts';
import type { Suspicion } from '../ports/observer.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { created } from '../testing/notebook.ts';
import { anonymous } from './caller.ts';
import { defaultLimits, type Limits } from './limits.ts';
import { RateLimiter } from './rate-limiter.ts';

const hintMs = 1_000;
const minuteMs = 60_000;

function limited(limits: Partial<Limits>) {
  const clock = new ManualClock();
  const reports: Suspicion[] = [];
  const observer = { refused: () => {}, suspicious: (one: Suspicion) => void reports.push(one) };
  return { clock, reports, limiter: new RateLimiter({ ...defaultLimits, ...limits }, { clock, observer }) };
}

/** The refusal of an act; undefined if it succeeds. */
function refusalOf(act: () => void): OverLimit | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof OverLimit) return error;
    throw error;
  }
}

test('an owner that exceeds its rate is refused, and others are not', () => {
  const { limiter, clock } = limited({ readsPerMinute: 300 });
  const read = (owner: string) => refusalOf(() => limiter.spend(owner, 'reads'));
  for (let reads = 0; reads < 300; reads++) expect(read('ada')).toBeUndefined();
  clock.advance(20_000);
  expect(read('ada')).toMatchObject({ limit: 'readsPerMinute', retryAfterMs: 40_000 });
  expect(read('grace')).toBeUndefined();
  // Calls are another limit.
  expect(refusalOf(() => limiter.spend('ada', 'calls'))).toBeUndefined();
  clock.advance(40_000);
  expect(read('ada')).toBeUndefined();
});

test('setting the wall clock back does not extend a minute', () => {
  const { limiter, clock } = limited({ readsPerMinute: 1 });
  limiter.spend('ada', 'reads');
  clock.set(-3_600_000);
  clock.advance(minuteMs);
  expect(refusalOf(() => limiter.spend('ada', 'reads'))).toBeUndefined();
});

/** A task with a poll interval of a second, and a caller that polls it. */
function watched(pollsPerHint: number, { pollMs = hintMs } = {}) {
  const { clock, reports, limiter } = limited({ pollsPerHint });
  const task = { ...created({}, clock.now()), pollMs };
  /** Polls the task, with a pause after each poll. Returns how many polls are answered. */
  const poll = (times: number, pauseMs: number) => {
    let answered = 0;
    for (let n = 0; n < times; n++) {
      const refusal = refusalOf(() => limiter.recordPoll(task));
      if (refusal) expect(refusal.limit).toBe('pollsPerHint');
      else answered++;
      clock.advance(pauseMs);
    }
    return answered;
  };
  return { clock, reports, limiter, task, poll };
}

test('S1686-86, S2025-111: a task that is polled far more often than its hint suggests is reported once a minute', () => {
  const { reports, poll, task } = watched(20);
  poll(1_200, 10);
  expect(reports).toEqual([]);
  poll(4_799, 10);
  expect(reports).toMatchObject([{ pattern: 'eagerPolls', owner: task.owner, task: task.id, count: 1_201 }]);
  poll(6_000, 10);
  expect(reports).toHaveLength(2);
});

test('then polls are answered at the pace of the hint until the minute ends', () => {
  const { poll, clock, limiter, task } = watched(20);
  poll(1_200, 10);
  // Twelve seconds have passed; in the next ten seconds ten polls are answered.
  expect(poll(1_000, 10)).toBe(10);
  limiter.recordPoll(task);
  const refusal = refusalOf(() => limiter.recordPoll(task))!;
  expect(refusal.message).toContain('poll at most once every 1000 ms');
  expect(refusal.retryAfterMs).toBe(hintMs);
  clock.advance(hintMs);
  expect(poll(1, 0)).toBe(1);
  clock.advance(minuteMs);
  expect(poll(1_200, 10)).toBe(1_200);
});

test('ten polls per second are always allowed, even with a long poll interval', () => {
  const { poll, reports } = watched(1, { pollMs: 3_600_000 });
  expect(poll(6_000, 100)).toBe(6_000);
  expect(reports).toEqual([]);
});

test('polls of different tasks are counted separately', () => {
  const { limiter, reports, task } = watched(1);
  for (let n = 0; n < 20_000; n++) limiter.recordPoll({ ...task, id: `task ${n % 2_000}` });
  expect(reports).toEqual([]);
});

const from = (owner: string, address?: string) => ({ owner, address: () => address });

test('S1686-86, S2025-111: too many failed reads are reported, and refused from then on', () => {
  const { limiter, reports, clock } = limited({ failedReadsPerMinute: 3 });
  for (let n = 0; n < 2; n++) limiter.recordMiss(from('ada'));
  expect(reports).toEqual([]);
  limiter.recordMiss(from('ada'));
  expect(reports).toEqual([{ pattern: 'failedLooks', owner: 'ada', count: 3, at: clock.now() }]);
  clock.advance(minuteMs - 1);
  expect(refusalOf(() => limiter.recordMiss(from('ada')))).toMatchObject({
    limit: 'failedReadsPerMinute',
    retryAfterMs: 1,
  });
  limiter.recordMiss(from('bob'));
  expect(reports).toHaveLength(1);
  // The count is reset after a minute.
  clock.advance(1);
  limiter.recordMiss(from('ada'));
});

test('callers without a token are counted by address, others are not', () => {
  const { limiter, reports } = limited({ failedReadsPerMinute: 1 });
  limiter.recordMiss(from(anonymous, '192.0.2.1'));
  limiter.recordMiss(from(anonymous, '192.0.2.2'));
  expect(refusalOf(() => limiter.recordMiss(from(anonymous, '192.0.2.1')))).toBeDefined();
  expect(reports.map(({ address }) => address)).toEqual(['192.0.2.1', '192.0.2.2']);
  limiter.recordMiss(from('ada', '192.0.2.1'));
  expect(refusalOf(() => limiter.recordMiss(from('ada', '192.0.2.9')))).toBeDefined();
  expect(reports.at(-1)).not.toHaveProperty('address');
});

test('the number of counters is bounded: the oldest ones are dropped', () => {
  const { limiter } = limited({ failedReadsPerMinute: 1 });
  limiter.recordMiss(from('ada'));
  expect(refusalOf(() => limiter.recordMiss(from('ada')))).toBeDefined();
  for (let n = 0; n < 10_000; n++) limiter.recordMiss(from(`owner ${n}`));
  expect(refusalOf(() => limiter.recordMiss(from('ada')))).toBeUndefined();
});
