import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Reporter } from './batch.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('the last report of a handler is flushed, at first four times a second', () => {
  const reports: unknown[] = [];
  const reporter: Reporter = new Reporter(() => reports.push(reporter.take()));
  for (let n = 1; n <= 1_000; n++) {
    reporter.report({ message: `at ${n}`, progress: { done: n } });
    vi.advanceTimersByTime(1);
  }
  expect(reports).toHaveLength(4);
  vi.advanceTimersByTime(250);
  expect(reports.at(-1)).toEqual({ message: 'at 1000', progress: { done: 1_000 } });
});

test('the reports of long work are flushed every five seconds', () => {
  let reports = 0;
  const reporter: Reporter = new Reporter(() => {
    reports++;
    reporter.take();
  });
  vi.advanceTimersByTime(600_000);
  for (let second = 0; second < 100; second++) {
    reporter.report({ message: `second ${second}` });
    vi.advanceTimersByTime(1_000);
  }
  expect(reports).toBeLessThanOrEqual(20);
  expect(reports).toBeGreaterThanOrEqual(16);
});

test('a restored report is taken again, except for newer values', () => {
  const reporter = new Reporter(() => {});
  reporter.report({ message: 'old', pollMs: 5 });
  const report = reporter.take();
  reporter.report({ message: 'new' });
  reporter.restore(report);
  expect(reporter.take()).toEqual({ message: 'new', pollMs: 5 });
});
