import { expect, test } from 'vitest';
import type { TaskService } from '../engine/task-service.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { defaultLimits, type Limits } from './limits.ts';
import { TaskQuota } from './task-quota.ts';

/** A quota with these limits, and a fake store with the number of tasks of each owner. */
function quota(
  limits: Partial<Limits>,
  { tasks = new Map<string, number>(), storing = async () => {} } = {},
) {
  const clock = new ManualClock();
  const quota = new TaskQuota({ ...defaultLimits, ...limits });
  let counts = 0;
  const requests = {
    get monotonic() {
      return clock.monotonic();
    },
    count: async (owner: string | undefined, _what: string, upTo: number) => {
      counts++;
      const all = [...tasks.values()].reduce((sum, n) => sum + n, 0);
      return Math.min(upTo, owner === undefined ? all : (tasks.get(owner) ?? 0));
    },
  } as unknown as TaskService;
  const take = async (owner: string) => {
    try {
      return await quota.create(requests, owner, async () => {
        await storing();
        tasks.set(owner, (tasks.get(owner) ?? 0) + 1);
        return 'taken';
      });
    } catch (error) {
      return (error as { limit: string }).limit;
    }
  };
  return { clock, take, tasks, counted: () => counts };
}

test('the last tenth is reserved for owners with few tasks', async () => {
  const { take } = quota({ liveTasks: 10 });
  for (let n = 0; n < 9; n++) expect(await take('greedy')).toBe('taken');
  expect(await take('greedy')).toBe('liveTasks');
  expect(await take('modest')).toBe('taken');
  // Now the quota is exhausted.
  expect(await take('modest')).toBe('liveTasks');
  expect(await take('late')).toBe('liveTasks');
});

test('a full server counts again after a while, not for each refusal', async () => {
  const { take, tasks, clock, counted } = quota({ storedTasks: 2 });
  for (const owner of ['ada', 'bob']) expect(await take(owner)).toBe('taken');
  expect(await take('cy')).toBe('storedTasks');
  const before = counted();
  for (let n = 0; n < 100; n++) expect(await take('cy')).toBe('storedTasks');
  expect(counted()).toBe(before);
  tasks.clear();
  clock.advance(60_000);
  expect(await take('cy')).toBe('taken');
});

test('calls at the same time do not exceed the limit', async () => {
  const { take } = quota({ liveTasksPerOwner: 5 });
  const taken = await Promise.all(Array.from({ length: 20 }, () => take('ada')));
  expect(taken.filter((one) => one === 'taken')).toHaveLength(5);
});

test('without limits nothing is counted', async () => {
  const none = Number.POSITIVE_INFINITY;
  const { take, counted } = quota({
    liveTasks: none,
    storedTasks: none,
    liveTasksPerOwner: none,
    storedTasksPerOwner: none,
  });
  expect(await take('ada')).toBe('taken');
  expect(counted()).toBe(0);
});

test('processes that are flooded at the same time exceed the limit by at most one task each', async () => {
  const tasks = new Map<string, number>();
  const storing = () => new Promise<void>((stored) => setTimeout(stored, Math.random() * 4));
  const replicas = Array.from({ length: 8 }, () => quota({ liveTasksPerOwner: 100 }, { tasks, storing }));
  const calls = replicas.flatMap(({ take }) => Array.from({ length: 50 }, () => take('ada')));
  const taken = (await Promise.all(calls)).filter((one) => one === 'taken').length;
  expect(taken).toBe(tasks.get('ada'));
  expect(taken).toBeGreaterThanOrEqual(100);
  expect(taken).toBeLessThan(100 + replicas.length);
});

test('far from the limit the store is rarely counted', async () => {
  const { take, counted } = quota({});
  for (let n = 0; n < 300; n++) expect(await take('ada')).toBe('taken');
  // Each count makes two queries: live tasks and stored tasks.
  expect(counted()).toBeLessThan(30);
});
