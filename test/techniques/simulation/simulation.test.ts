/** The simulation, in processes of its own: it replaces the timers and clocks of the process that it runs in. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Program, sources } from '../../kit/process.ts';

const script = join(import.meta.dirname, '../../../scripts/sim.ts');

async function simulated(
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly lines: string[] }> {
  const program = new Program(sources(script, ...args));
  const { code } = await program.exit;
  return { code, lines: program.output.trimEnd().split('\n') };
}

test('the same seed gives the same run in another process', async () => {
  const [one, other] = await Promise.all([simulated('--seed', '6'), simulated('--seed', '6')]);
  const [line] = one.lines;
  expect(line).toMatch(/^seed 6: \d+ commits, hash [0-9a-f]{16}$/);
  expect(other.lines).toEqual(one.lines);
});

test('what was promised holds in 200 seeds, and every kind of fault and call occurs', {
  timeout: 600_000,
}, async () => {
  const { code, lines } = await simulated('--from', '1', '--seeds', '200');
  expect(lines.at(-1), lines.join('\n')).toMatch(/^sim: 200 seeds, \d+ commits, 0 violations$/);
  const [, commits, faults] = /^in the median seed (\d+) commits and (\d+) faults$/.exec(lines.at(-2)!) ?? [];
  expect(Number(commits)).toBeGreaterThanOrEqual(300);
  expect(Number(faults)).toBeGreaterThanOrEqual(5);
  // Too rare to be met by every 50 seeds.
  expect(lines.at(-3)).toContain('cancelled elsewhere');
  expect(code).toBe(0);
});

test.each([
  [['--seeds', 'many'], '--seeds takes a whole number, not "many".'],
  [['--sede', '1'], "Unknown option '--sede'"],
])('%j is wrong usage, and says so', async (args, sentence) => {
  const program = new Program(sources(script, ...args));
  const { code } = await program.exit;
  expect(code).toBe(2);
  expect(program.complaints).toContain(sentence);
});
