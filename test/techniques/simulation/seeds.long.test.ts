/** As `simulation.test.ts`, for as many seeds as an hour allows. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Program, sources } from '../../kit/process.ts';

const script = join(import.meta.dirname, '../../../scripts/sim.ts');
const hour = 3_600_000;

test('what was promised holds in 20,000 seeds', { timeout: 4 * hour }, async () => {
  const program = new Program(sources(script, '--from', '1', '--seeds', '20000'));
  const { code } = await program.exit;
  expect(program.output).toMatch(/^sim: 20000 seeds, \d+ commits, 0 violations$/m);
  expect(code).toBe(0);
});
