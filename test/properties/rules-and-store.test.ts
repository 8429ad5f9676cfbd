import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Database } from '../../src/engine/queue.ts';
import { openSqlite } from '../../src/sqlite.ts';
import type { ManualClock } from '../../src/testing/manual-clock.ts';
import { type Command, command } from './commands.ts';
import { World } from './world.ts';

const seed = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const runs = process.env.HOLDFAST_LANE === 'long' ? 1_000 : 100;
const perRun = 250;

interface Tally {
  commands: number;
  /** How often each event and each refusal was seen. */
  readonly seen: Map<string, number>;
}

/** Runs random sequences of commands, and says how to run the same ones again. */
async function driveRandomly(
  open: () => Promise<{ open: (clock: ManualClock) => Promise<Database>; remove: () => Promise<void> }>,
  connections: number,
): Promise<Tally> {
  console.log(`seed ${seed}; to replay: HOLDFAST_SEED=${seed} npm test -- test/properties`);
  const tally: Tally = { commands: 0, seen: new Map() };
  const sequence = fc.array(command, { minLength: perRun, maxLength: perRun, size: 'max' });
  await fc.assert(
    fc.asyncProperty(sequence, async (commands) => {
      const place = await open();
      try {
        await drive(await World.open(place.open, connections), commands, tally);
      } finally {
        await place.remove();
      }
    }),
    { seed, numRuns: runs },
  );
  console.log(
    `${tally.commands} commands: ${[...tally.seen].map(([name, count]) => `${name} ${count}`).join(', ')}`,
  );
  return tally;
}

async function drive(world: World, commands: readonly Command[], tally: Tally): Promise<void> {
  try {
    for (const one of commands) {
      await world.perform(one);
      tally.commands++;
      if (world.commands % 50 === 0) await world.compareAll();
    }
    await world.compareAll();
  } finally {
    await world.close();
    for (const [name, count] of world.seen) tally.seen.set(name, (tally.seen.get(name) ?? 0) + count);
  }
}

/** Every event must have happened and every rule have said no, or the commands are too tame to prove anything. */
const everything = [
  ...[
    'created',
    'claimed',
    'recorded',
    'reported',
    'asked',
    'answered',
    'withdrawn',
    'childStarted',
    'childDone',
  ],
  ...['parked', 'released', 'held', 'finished', 'removed', 'awaited', 'published'],
  ...['delivering', 'undelivered'],
  ...[
    'AlreadyPublished',
    'BadAnswer',
    'BeingDelivered',
    'ClaimLost',
    'DeadlineNotReached',
    'IdempotencyKeyReused',
    'NotARoot',
    'NotClaimable',
  ],
  ...['StillAlive', 'StillRetained', 'TaskIsDone', 'TaskIsEnding', 'TaskMoved', 'TaskNotFound'],
];

const title = 'S1686-29 S2025-33 S2268-25 S2663-48: random commands';

test(`${title} give the same tasks by the pure rules and in a SQLite file shared by three connections, and break no invariant`, async () => {
  const tally = await driveRandomly(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
    return {
      open: (clock) => openSqlite(join(folder, 'tasks.db'), { clock }),
      remove: () => rm(folder, { recursive: true }),
    };
  }, 3);
  expect([...tally.seen.keys()].sort()).toEqual(everything.sort());
  expect(tally.commands).toBeGreaterThanOrEqual(runs * perRun);
}, 600_000);

test(`${title} give the same tasks by the pure rules and in memory`, async () => {
  const tally = await driveRandomly(
    async () => ({ open: (clock) => openSqlite('memory:', { clock }), remove: async () => {} }),
    1,
  );
  expect(tally.commands).toBeGreaterThanOrEqual(runs * perRun);
}, 600_000);
