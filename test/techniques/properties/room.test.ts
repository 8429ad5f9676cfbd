import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import * as rules from '../../../src/engine/rules/transitions.ts';
import { Housekeeping } from '../../../src/engine/worker/housekeeping.ts';
import { workerDefaults } from '../../../src/engine/worker/settings.ts';
import type { DoneTask, Task } from '../../../src/model/task.ts';
import type { Database } from '../../../src/ports/queue.ts';
import { openSqlite, type SqliteOptions } from '../../../src/sqlite.ts';
import { aTask } from '../../../src/testing/fixtures.ts';
import { ManualClock } from '../../../src/testing/manual-clock.ts';
import { StoreCommands } from '../../../src/testing/stores/store-commands.ts';
import { encryption } from '../../encryption/keys.ts';
import { seedOfThisRun } from '../../kit/random.ts';

const seed = seedOfThisRun();
const numRuns = { quick: 2, long: 200 }[process.env.HOLDFAST_LANE!] ?? 8;
const maxStoreSize = 1_000_000;
const shortestRetentionMs = 60_000;

/** How large a tree is, and how far it comes. */
const plan = fc.record({
  kilobytes: fc.integer({ min: 0, max: 24 }),
  subtasks: fc.integer({ min: 0, max: 3 }),
  ends: fc.constantFrom('root', 'root', 'root', 'subtasks', 'nothing'),
  passes: fc.integer({ min: 0, max: 5_000 }),
  isUnpublished: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
});
type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never;

async function grow(database: Database, clock: ManualClock, tree: Plan): Promise<Task[]> {
  const tasks = new StoreCommands(database, clock);
  const { kilobytes, subtasks, ends, isUnpublished } = tree;
  const request = aTask({
    arguments: { text: 'x'.repeat(kilobytes * 1_000) },
    ...(isUnpublished && { unpublished: { servedBy: null, until: clock.now() + 3_600_000 } }),
  });
  const { task: root, claim } = await tasks.claimed(request);
  for (let n = 0; n < subtasks; n++) {
    const child = await tasks.startChild(claim);
    await tasks.record(await tasks.claimOne(child), ['y'.repeat(kilobytes * 500)]);
    if (ends === 'subtasks') await tasks.end(child);
  }
  if (ends === 'root') await tasks.end(root);
  clock.advance(tree.passes);
  const { task, descendants } = (await database.store.family(root.id))!;
  return [task, ...descendants];
}

const tally = { trees: 0, crowdedOut: 0, stillTooLarge: 0 };
afterAll(() => console.log(`seed ${seed}: ${JSON.stringify(tally)}`));

async function holds(options: SqliteOptions, plans: readonly Plan[]): Promise<void> {
  const clock = new ManualClock();
  const database = await openSqlite('memory:', { ...options, clock });
  const { store } = database;
  const planted: Task[][] = [];
  for (const one of plans) planted.push(await grow(database, clock, one));
  const now = clock.now() + 1_000;
  const endedBy = now - shortestRetentionMs;
  // Unpublished ones are forgotten a minute after their end, however much room there is.
  const trees: Task[][] = [];
  for (const tree of planted) {
    const [{ id, phase, purgeAt }] = tree as [DoneTask];
    if (phase !== 'done' || purgeAt! > now) trees.push(tree);
    else await store.update('family', id, (family) => rules.purge(family, now));
  }
  const mayGo = trees
    .filter(([root]) => root!.phase === 'done' && root!.finishedAt <= endedBy)
    .map(([root]) => root!.id);
  const wasTooLarge = (await store.size()) > maxStoreSize;

  const extents = { ...workerDefaults.limits, maxStoreSize, minRetention: shortestRetentionMs };
  const housekeeping = new Housekeeping(database, clock, [], { ...workerDefaults, limits: extents });
  clock.advance(1_000);
  await expect
    .poll(async () => {
      const isSmallEnough = (await store.size()) <= maxStoreSize * (wasTooLarge ? 0.9 : 1);
      return isSmallEnough || (await store.due('oldest', endedBy, 1)).length === 0;
    })
    .toBe(true);
  await housekeeping.stop();

  const size = await store.size();
  const left = new Set<string>();
  for (const [root] of trees) if (await store.get(root!.id)) left.add(root!.id);
  const gone = trees.filter(([root]) => !left.has(root!.id)).map(([root]) => root!.id);
  // Trees were planted in the order in which they end.
  expect(gone).toEqual(mayGo.slice(0, gone.length));
  if (size > maxStoreSize) expect(gone).toEqual(mayGo);
  if (!wasTooLarge) expect(gone).toEqual([]);
  // No more than was needed, give or take a few trees.
  if (gone.length > 0) expect(size).toBeGreaterThan(maxStoreSize * 0.6);
  for (const tree of trees)
    for (const task of tree) {
      expect(await store.get(task.id)).toEqual(left.has(task.rootId) ? task : undefined);
      if (!left.has(task.rootId)) expect(await store.journal(task.id)).toEqual([]);
    }
  tally.trees += trees.length;
  tally.crowdedOut += gone.length;
  tally.stillTooLarge += size > maxStoreSize ? 1 : 0;
  await database.close();
}

test.each([
  ['plain', {}],
  ['encrypted', { encryption: encryption('first') }],
])(
  'whatever a store holds, the trees that ended first go until it is small enough, whole, and no others: %s',
  async (_, options) => {
    await fc.assert(
      fc.asyncProperty(fc.array(plan, { minLength: 20, maxLength: 90, size: 'max' }), (plans) =>
        holds(options, plans),
      ),
      { seed, numRuns, endOnFailure: true },
    );
  },
);
