/** A worker that was away for a while (its machine slept, its process was stopped) looks whether it is still wanted. */
import { createTasks, durableTool } from 'holdfast';
import { describe, expect, onTestFinished, test } from 'vitest';
import { claimTasks } from '../../src/engine/claims.ts';
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
        const found = await database.store.get(task.id);
        heldUntil.push(found?.phase === 'done' ? undefined : found?.holder?.leaseUntil);
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
    clock.jump((leaseMs * 2) / 3);
    go();
    await expect.poll(async () => (await tasks.get(id))?.phase, { timeout: 20_000 }).toBe('done');
    expect(heldUntil).toEqual([clock.now() + leaseMs]);
  });

  test('of a task that another worker has taken meanwhile it begins no step', async () => {
    const { clock, where, haul, id, worker, go, heldUntil } = await aWorkerOnItsWay();
    const other = await open(where, { clock });
    onTestFinished(() => other.close());
    clock.jump(leaseMs);
    const tools = [{ tool: haul.name, version: haul.version }];
    const [taken] = await claimTasks(other, { tools, limit: 1, leaseMs, now: clock.now() });
    expect(taken?.task.id).toBe(id);
    go();
    await expect.poll(() => worker.isIdle, { timeout: 20_000 }).toBe(true);
    expect(heldUntil).toEqual([]);
  });
});
