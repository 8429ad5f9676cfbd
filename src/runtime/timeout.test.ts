import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { within, withTimeout } from './timeout.ts';

const never = new Promise<never>(() => {});
const failed = Promise.reject(new Error('It failed.'));
failed.catch(() => {});

beforeEach(() => void vi.useFakeTimers());

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test('a promise that settles in time passes its outcome on and leaves no timer', async () => {
  await expect(within(1_000, Promise.resolve(1))).resolves.toBe(1);
  await expect(within(1_000, failed)).rejects.toThrow('It failed.');
  await expect(withTimeout(1_000, async () => 1, Error)).resolves.toBe(1);
  await expect(withTimeout(1_000, () => 1, Error)).resolves.toBe(1);
  await expect(withTimeout(1_000, () => failed, Error)).rejects.toThrow('It failed.');
});

test('a wait resolves to undefined when the time is over', async () => {
  const waited = within(1_000, never);
  await vi.advanceTimersByTimeAsync(1_000);
  await expect(waited).resolves.toBeUndefined();
});

test('a wait resolves to undefined when its signal is aborted, even before the wait', async () => {
  const abort = new AbortController();
  const waited = within(1_000, never, abort.signal);
  abort.abort();
  await expect(waited).resolves.toBeUndefined();
  await expect(within(1_000, never, abort.signal)).resolves.toBeUndefined();
});

test('a call that takes too long rejects', async () => {
  const waited = expect(
    withTimeout(
      1_000,
      () => never,
      () => new Error('Too late.'),
    ),
  ).rejects.toThrow('Too late.');
  await vi.advanceTimersByTimeAsync(1_000);
  await waited;
});

test('a call that is aborted because it took too long rejects with the timeout', async () => {
  const abort = new AbortController();
  const run = () =>
    new Promise<never>((_, reject) =>
      abort.signal.addEventListener('abort', () => reject(new Error('Aborted.'))),
    );
  const waited = expect(withTimeout(1_000, run, () => new Error('Too late.'), abort)).rejects.toThrow(
    'Too late.',
  );
  await vi.advanceTimersByTimeAsync(1_000);
  await waited;
  expect(abort.signal.aborted).toBe(true);
});

test('a call that throws synchronously leaves no timer', async () => {
  const fail = () => {
    throw new Error('It failed.');
  };
  await expect(withTimeout(1_000, fail, Error)).rejects.toThrow('It failed.');
});
