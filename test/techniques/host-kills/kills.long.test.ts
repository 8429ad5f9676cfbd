import { expect, test } from 'vitest';
import { seedOfThisRun } from '../../kit/random.ts';
import { killHosts, ways } from './kills.ts';

test('two hundred kills, in every dialect that a host resumes in', async () => {
  const seed = seedOfThisRun();
  const { reports, problems } = await killHosts(ways, { kills: 200, seed });
  console.table(reports);
  expect(problems).toEqual([]);
});
