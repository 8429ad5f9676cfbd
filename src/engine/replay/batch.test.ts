import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Reporter } from './batch.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('however often a handler speaks, its last word is flushed, at first four times a second', () => {
  const heard: unknown[] = [];
  const reporter: Reporter = new Reporter(() => heard.push(reporter.take()));
  for (let n = 1; n <= 1_000; n++) {
    reporter.report({ message: `at ${n}`, progress: { done: n } });
    vi.advanceTimersByTime(1);
  }
  expect(heard).toHaveLength(4);
  vi.advanceTimersByTime(250);
  expect(heard.at(-1)).toEqual({ message: 'at 1000', progress: { done: 1_000 } });
});

test('work that has talked for long is heard every five seconds', () => {
  let heard = 0;
  const reporter: Reporter = new Reporter(() => {
    heard++;
    reporter.take();
  });
  vi.advanceTimersByTime(600_000);
  for (let second = 0; second < 100; second++) {
    reporter.report({ message: `second ${second}` });
    vi.advanceTimersByTime(1_000);
  }
  expect(heard).toBeLessThanOrEqual(20);
  expect(heard).toBeGreaterThanOrEqual(16);
});

test('what one commit could not carry, the next one does, unless something newer was said', () => {
  const reporter = new Reporter(() => {});
  reporter.report({ message: 'old', pollMs: 5 });
  const report = reporter.take();
  reporter.report({ message: 'new' });
  reporter.restore(report);
  expect(reporter.take()).toEqual({ message: 'new', pollMs: 5 });
});
