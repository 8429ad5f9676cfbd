/** A simulation that finds nothing proves something only if it finds what is there: bugs are planted, one at a time. */
import { expect, test } from 'vitest';
import { temporaryFolder, untilEnd } from '../../kit/lifetime.ts';
import { Program, sources } from '../../kit/process.ts';
import { copySimulation, defects, plant } from './planted.ts';

const most = 500;

test.each(defects)(`the simulation finds ${'$name'} within ${most} seeds`, async (defect) => {
  const folder = temporaryFolder();
  copySimulation(folder);
  plant(defect, folder);
  const { code, output, complaints } = await simulated(folder, most);
  const [, failed, told = ''] =
    /^seed (\d+) fails;.*\n([\s\S]*?)^ {2}with only these faults:$/m.exec(output) ?? [];
  expect(failed, `No seed failed.\n${output}${complaints}`).toBeDefined();
  expect(told).toMatch(defect.violation);
  expect(code).toBe(1);
  console.log(`${defect.name}: seed ${failed}`);
});

test('without a planted defect nothing fails', async () => {
  const folder = temporaryFolder();
  copySimulation(folder);
  const { code, output } = await simulated(folder, 50);
  expect(output).toMatch(/^sim: 50 seeds, \d+ commits, 0 violations$/m);
  expect(code).toBe(0);
});

async function simulated(folder: string, seeds: number) {
  const args = ['scripts/sim.ts', '--from', '1', '--seeds', String(seeds), '--stop'];
  const program = untilEnd(new Program(sources(...args), { cwd: folder }));
  const { code } = await program.exit;
  const { output, complaints } = program;
  return { code, output, complaints };
}
