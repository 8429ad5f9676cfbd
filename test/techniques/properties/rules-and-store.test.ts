import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSqlite } from '../../../src/sqlite.ts';
import { driveRandomly, everything, perRun } from './drive.ts';

const runs = { quick: 4, long: 1_000 }[process.env.HOLDFAST_LANE!] ?? 100;
const title = 'S1686-29 S2025-33 S2268-25 S2663-48: random commands';

test(`${title} give the same tasks by the pure rules and in a SQLite file shared by three connections, and break no invariant`, async () => {
  const tally = await driveRandomly(
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
      return {
        open: (clock) => openSqlite(join(folder, 'tasks.db'), { clock }),
        remove: () => rm(folder, { recursive: true }),
      };
    },
    3,
    { runs },
  );
  // A short run may miss a rare one.
  if (runs > 50) expect([...tally.seen.keys()].sort()).toEqual(everything.sort());
  expect(tally.commands).toBeGreaterThanOrEqual(runs * perRun);
}, 600_000);

test(`${title} give the same tasks by the pure rules and in memory`, async () => {
  const tally = await driveRandomly(
    async () => ({ open: (clock) => openSqlite('memory:', { clock }), remove: async () => {} }),
    1,
    { runs },
  );
  expect(tally.commands).toBeGreaterThanOrEqual(runs * perRun);
}, 600_000);
