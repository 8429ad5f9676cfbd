import { expect, test } from 'vitest';
import { driveRandomly, everything, perRun } from '../techniques/properties/drive.ts';
import { freshDatabase } from './database.ts';
import { placeIn } from './place.ts';

const runs = process.env.HOLDFAST_LANE === 'long' ? 200 : 4;

test('S1686-29 S2025-33 S2268-25 S2663-48: random commands give the same tasks by the pure rules and on Postgres, shared by three connections, and break no invariant', async () => {
  const database = await freshDatabase();
  const tally = await driveRandomly(async () => placeIn(database.url), 3, { runs, shrinks: false });
  await database.remove();
  expect(tally.commands).toBeGreaterThanOrEqual(runs * perRun);
  // A short run may miss a rare one; the long lane sees them all.
  if (runs > 100) expect([...tally.seen.keys()].sort()).toEqual(everything.sort());
}, 600_000);
