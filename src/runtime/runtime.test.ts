import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { machine, pause, type Timer, unrefPause, useRuntime } from './runtime.ts';

beforeEach(() => void vi.useFakeTimers());

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
  useRuntime(machine);
});

test('a pause ends when the time is over', async () => {
  let isOver = false;
  void pause(1_000).then(() => {
    isOver = true;
  });
  await vi.advanceTimersByTimeAsync(999);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(isOver).toBe(true);
});

test('a pause rejects with the reason of its signal, even if that was aborted before', async () => {
  const abort = new AbortController();
  const paused = pause(1_000, abort.signal);
  abort.abort(new Error('Enough.'));
  await expect(paused).rejects.toThrow('Enough.');
  await expect(pause(1_000, abort.signal)).rejects.toThrow('Enough.');
});

test('an unreferenced pause does not keep the process alive', async () => {
  const timers: Timer[] = [];
  const setTimeout: typeof machine.setTimeout = (act, ms) => {
    const timer = machine.setTimeout(act, ms);
    timers.push(timer);
    return timer;
  };
  useRuntime({ ...machine, setTimeout });
  const paused = unrefPause(1_000);
  expect((timers[0] as NodeJS.Timeout).hasRef()).toBe(false);
  await vi.advanceTimersByTimeAsync(1_000);
  await paused;
});
