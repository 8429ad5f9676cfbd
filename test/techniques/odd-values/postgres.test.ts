/** Postgres cannot keep everything that SQLite can: a NUL, half a surrogate pair, a fraction of a millisecond. */
import { expect, test } from 'vitest';
import { freshDatabase } from '../../postgres/database.ts';
import { complaintOf, runCases } from './in-process.ts';
import { throwingWays, ways } from './tools.ts';
import { oddValues } from './values.ts';

const values = [
  'half a surrogate pair and a NUL',
  'half a pair and a NUL in an error',
  'a fraction',
  'beyond all dates',
  'an object without a prototype',
  'an error named __proto__',
  'a protocol error with circular data',
];

test('on Postgres too, odd values fail only their own task', { timeout: 600_000 }, async () => {
  const database = await freshDatabase();
  const all = values.flatMap((value) => Object.keys(ways).map((way) => ({ value, way })));
  const cases = all.filter((_, n) => process.env.HOLDFAST_LANE !== 'quick' || n % 4 === 0);
  const { ended, survived, complaints } = await runCases(cases, database.url);
  await database.remove();
  expect(complaints).toBe('');
  expect(survived).toBe(true);
  expect(ended).toHaveLength(cases.length);
  expect(ended.filter(({ neighbour }) => neighbour !== 'result')).toEqual([]);
  for (const { value, way, outcome } of ended)
    if (Object.hasOwn(throwingWays, way)) expect(complaintOf(outcome), way).toMatch(oddValues.get(value)![1]);
});
