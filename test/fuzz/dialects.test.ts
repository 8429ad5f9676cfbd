import { expect, test } from 'vitest';
import { seedOfThisRun } from './campaign.ts';
import { fireOverHttp } from './dialects.ts';

const seed = seedOfThisRun();

test('probe', { timeout: 120_000 }, async () => {
  const started = performance.now();
  const { tally, bytes, after, complaints } = await fireOverHttp({
    messages: Number(process.env.N ?? 2000),
    seed,
    kept: [],
  });
  console.log(tally.summary, bytes, after, complaints.slice(0, 3000), performance.now() - started);
  const groups = new Map<string, string[]>();
  for (const p of tally.problems) {
    const key = p.replace(/^.*→/s, '').slice(0, 60);
    groups.set(key, [...(groups.get(key) ?? []), p.slice(0, 260)]);
  }
  for (const [k, v] of groups) console.log(`## ${k} ×${v.length}\n${v.slice(0, 6).join('\n')}`);
  expect(tally.problems.length).toBe(0);
});
