import { expect, test } from 'vitest';
import { type Cancellation, Semaphore } from './semaphore.ts';

const never: Cancellation = { hold: () => () => {} };

function cancellable(): Cancellation & { cancel(reason: Error): void; readonly listeners: number } {
  const held = new Set<(reason: unknown) => void>();
  return {
    hold(cancel) {
      held.add(cancel);
      return () => held.delete(cancel);
    },
    cancel(reason) {
      for (const cancel of held) cancel(reason);
      held.clear();
    },
    get listeners() {
      return held.size;
    },
  };
}

test('at most one action per slot runs at the same time, and they start in order', async () => {
  const semaphore = new Semaphore(2);
  const started: number[] = [];
  let running = 0;
  let maxRunning = 0;
  const act = (index: number) => async () => {
    started.push(index);
    maxRunning = Math.max(maxRunning, ++running);
    await Promise.resolve();
    running--;
    if (index === 1) throw new Error('It failed.');
    return index;
  };
  const results = await Promise.allSettled([0, 1, 2, 3, 4].map((index) => semaphore.run(act(index), never)));
  expect(started).toEqual([0, 1, 2, 3, 4]);
  expect(maxRunning).toBe(2);
  expect(results.map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ]);
});

test('an action starts at once if a slot is free', () => {
  let isStarted = false;
  void new Semaphore(1).run(async () => {
    isStarted = true;
  }, never);
  expect(isStarted).toBe(true);
});

test('a slot is released only once, even if the function is called again', async () => {
  const semaphore = new Semaphore(1);
  const release = await semaphore.acquire(never);
  release();
  release();
  await semaphore.acquire(never);
  let isAcquired = false;
  void semaphore.acquire(never).then(() => {
    isAcquired = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isAcquired).toBe(false);
});

test('a cancelled wait rejects with the reason, and the next caller gets the slot', async () => {
  const semaphore = new Semaphore(1);
  const release = await semaphore.acquire(never);
  const cancellation = cancellable();
  const cancelled = semaphore.acquire(cancellation);
  const next = cancellable();
  const acquired = semaphore.acquire(next);
  cancellation.cancel(new Error('Enough.'));
  await expect(cancelled).rejects.toThrow('Enough.');
  release();
  await acquired;
  expect(next.listeners).toBe(0);
});

test('a wait that is already cancelled takes no slot', async () => {
  const semaphore = new Semaphore(1);
  const release = await semaphore.acquire(never);
  const cancelled: Cancellation = {
    hold(cancel) {
      cancel(new Error('Enough.'));
      return () => {};
    },
  };
  await expect(semaphore.acquire(cancelled)).rejects.toThrow('Enough.');
  release();
  await semaphore.acquire(never);
});
