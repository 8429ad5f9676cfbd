import { monitorEventLoopDelay } from 'node:perf_hooks';
import * as rules from '../../src/engine/rules/transitions.ts';
import { createTasks, durableTool } from '../../src/index.ts';
import { openSqlite } from '../../src/sqlite.ts';
import type { Claim, Store } from '../../src/store.ts';
import { aTask } from '../../src/testing/fixtures.ts';
import { ManualClock } from '../../src/testing.ts';
import { inLanes, times } from '../kit/lanes.ts';
import { temporaryFile } from '../kit/lifetime.ts';

const hour = 3_600_000;
const greet = durableTool('greet', {}, async (_, task) => task.step('greet', () => 'Hello!'));

/** One tree in a hundred has twenty subtasks, and the first as many as `largest`. */
export async function sweepUnderTraffic(trees: number, largest: number) {
  const clock = new ManualClock();
  const database = await openSqlite(temporaryFile(), { clock });
  const { store } = database;
  await using tasks = createTasks({ store: database, tools: [greet], clock });
  try {
    const subtasks = (n: number) => (n === 0 ? largest : n % 100 === 0 ? 20 : 0);
    await inLanes(times(trees), 200, (n) => finishedTree(store, clock, subtasks(n)));
    const expected = times(trees).reduce((sum, n) => sum + 1 + subtasks(n), 0);
    let removed = 0;
    const all = Promise.withResolvers<void>();
    store.subscribe(({ events }) => {
      if (events.some(({ type }) => type === 'removed') && ++removed === expected) all.resolve();
    });
    await tasks.work();
    const loop = monitorEventLoopDelay({ resolution: 5 });
    loop.enable();
    clock.jump(25 * hour);
    let [calls, mostAhead, isOver] = [0, 0, false];
    void all.promise.then(() => {
      isOver = true;
    });
    while (!isOver) {
      const before = removed;
      const { id } = await tasks.create(greet);
      mostAhead = Math.max(mostAhead, removed - before);
      await tasks.outcome(id);
      calls++;
    }
    loop.disable();
    const felt = {
      /** Tasks that were removed, subtasks among them, and calls that were made and answered meanwhile. */
      removed,
      calls,
      /** For how long the event loop stood still at most, and in all but one of a hundred samples. */
      longestHoldMs: loop.max / 1e6,
      usualHoldMs: loop.percentile(99) / 1e6,
      /** How many tasks were removed at most between the moment when a call was made and its first commit. */
      mostAhead,
    };
    console.log(`while expired trees were removed: ${JSON.stringify(felt)}`);
    return felt;
  } finally {
    await tasks.close();
  }
}

async function finishedTree(store: Store, clock: ManualClock, subtasks: number): Promise<void> {
  const request = aTask({ retention: { from: 'finish', ms: hour } });
  const now = clock.now();
  const holder = { name: 'worker', leaseMs: hour };
  await store.create(undefined, () => rules.create(undefined, request, now, holder));
  const claim: Claim = { taskId: request.id, epoch: 1 };
  await inLanes(times(subtasks), 100, () =>
    store.update('task', request.id, (parent) => rules.startChild(parent, claim, aTask(), now)),
  );
  await store.update('family', request.id, (family) => rules.cancel(family, now));
}
