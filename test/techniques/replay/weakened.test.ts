import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { seedOfThisRun } from '../../kit/random.ts';
import type { Problem } from './checks.ts';
import { type Weakness, weakenedPass, weaknesses } from './weakened.ts';

const seed = seedOfThisRun();
const isQuick = process.env.HOLDFAST_LANE === 'quick';
/** The quick lane tries one of them, which depends on the seed. */
const tried = isQuick ? [weaknesses[seed % weaknesses.length]] : weaknesses;
const folder = mkdtempSync(join(tmpdir(), 'holdfast-weakened-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Checks random programs with a weakened engine, in a process of its own. */
async function problemsWith(weakness: Weakness, programs: number): Promise<readonly Problem[]> {
  const pass = weakenedPass(weakness, mkdtempSync(join(folder, 'engine-')));
  const child = join(import.meta.dirname, 'weakened-child.ts');
  // What hangs because it is weakened need not be waited for; what is not must have time on a busy machine.
  const patienceMs = Object.keys(weakness.changes).length > 0 ? 2_000 : 120_000;
  const options = [pass.href, weakness.shownBy ?? 'lives', seed, programs, patienceMs].map(String);
  const { stdout } = await promisify(execFile)(process.execPath, [child, ...options]);
  return JSON.parse(stdout);
}

for (const weakness of weaknesses) {
  const skip = !tried.includes(weakness);
  test(`the checks fail if ${weakness.name}`, { skip, timeout: 180_000 }, async () => {
    const problems = await problemsWith(weakness, 5_000);
    console.log(`seed ${problems[0]?.seed}, ${problems[0]?.check}: ${problems[0]?.what}`);
    expect(problems).not.toEqual([]);
  });
}

test('the checks do not fail if nothing is weakened', { timeout: 180_000 }, async () => {
  expect(await problemsWith({ name: 'nothing is weakened', changes: {} }, isQuick ? 20 : 100)).toEqual([]);
});

test('a weakness that no longer fits the source of the engine is an error', () => {
  const unfit = { name: 'it is unfit', changes: { 'no such passage': '' } };
  expect(() => weakenedPass(unfit, join(folder, 'unfit'))).toThrow(
    /pass\.ts must hold this once, not 0 times/,
  );
});
