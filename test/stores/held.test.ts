/** A worker that was away for a while (its machine slept, its process was stopped) looks whether it is still wanted. */
import { createTasks, durableTool } from 'holdfast';
import { describe, expect, onTestFinished, test } from 'vitest';
import { claim } from '../../src/engine/rules/transitions.ts';
import type { Task } from '../../src/model/task.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { kinds, open } from './kinds.ts';

const leaseMs = 15_000;

describe.each(kinds)('on $name', ({ place }) => {
  /** A worker whose handler has begun, and comes to its only step when it is told to. */
  async function aWorkerOnItsWay() {
    const clock = new ManualClock();
    const where = await place();
    const database = await open(where, { clock });
    const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const heldUntil: (number | undefined)[] = [];
    const haul = durableTool('haul', {}, async (_, task) => {
      begun.resolve();
      await go.promise;
      await task.step('haul', async () => {
        heldUntil.push(leaseOf(await database.store.get(task.id)));
      });
    });
    const tasks = createTasks({ store: database, tools: [haul], clock });
    onTestFinished(() => tasks.close());
    const { id } = await tasks.create(haul);
    // With no other place, so that it cannot take back itself what it has lost.
    const worker = await tasks.work({ lease: leaseMs, concurrency: 1 });
    await begun.promise;
    return { clock, where, haul, id, tasks, worker, go: go.resolve, heldUntil };
  }

  test('a step that would begin late in a lease begins when the lease was renewed', async () => {
    const { clock, id, tasks, go, heldUntil } = await aWorkerOnItsWay();
    const before = leaseOf(await tasks.get(id));
    clock.jump((leaseMs * 2) / 3);
    go();
    await expect.poll(async () => (await tasks.get(id))?.phase).toBe('done');
    expect(heldUntil).toHaveLength(1);
    expect(heldUntil[0]).toBeGreaterThan(before!);
  });

  test('of a task that another worker has taken meanwhile it begins no step', async () => {
    const { clock, where, id, worker, go, heldUntil } = await aWorkerOnItsWay();
    const other = await open(where, { clock });
    onTestFinished(() => other.close());
    const take = () =>
      other.store.update('task', id, (task) => {
        const holder = holderOf(task);
        const next = { name: other.queue.name, leaseMs };
        return claim(task, next, clock.now(), holder === undefined ? undefined : { name: holder });
      });
    // It rests before it is claimed.
    await take();
    clock.jump(2_000);
    await take();
    clock.jump(leaseMs);
    go();
    await expect.poll(() => worker.isIdle).toBe(true);
    expect(heldUntil).toEqual([]);
  });
});

const liveHolder = (task: Task | undefined) => (task?.phase === 'done' ? undefined : task?.worker);
const leaseOf = (task: Task | undefined) => liveHolder(task)?.leaseUntil;
const holderOf = (task: Task) => liveHolder(task)?.name;
