import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { lastLine } from '../../../scripts/chaos/report.ts';
import { unleash } from '../../../scripts/chaos/run.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { seedOfThisRun } from '../../kit/random.ts';

test('five hundred kills lose nothing, repeat no committed step and break no invariant', async () => {
  const seed = seedOfThisRun();
  const file = temporaryFile();
  const folder = join(dirname(file), 'steps');
  mkdirSync(folder);
  const { report } = await unleash({ file, folder, seed, kills: 500 });
  console.log(report);
  expect(report.problems).toEqual([]);
  expect(lastLine(report)).toBe(
    `chaos: 500 kills, ${report.tasks} tasks, 0 lost, 0 repeated steps, 0 broken invariants`,
  );
});
