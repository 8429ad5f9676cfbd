import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { othersExpected, type Part, runOthers, runTasks, suite, tasksExpected } from './run.ts';
import { record, suiteVersion } from './suite.ts';
import { closingLine, problems, type Tally, tally, total } from './verdict.ts';

// --- The suite against the fixture server -----------------------------------------------------------------

let tasks: Part;
let others: Part;
beforeAll(async () => {
  [tasks, others] = await Promise.all([runTasks(), runOthers()]);
}, 180_000);

test('all 44 checks of the Tasks extension pass, and the suite skips one scenario by itself', () => {
  expect(tasks.problems).toEqual([]);
  expect(tasks.tallies).toHaveLength(10);
  expect(closingLine(tasks.tallies)).toBe('conformance: 44 passed, 0 failed, 1 skipped');
});

test('the other scenarios of 2026-07-28 pass, but for the checks that are listed with their causes', () => {
  expect(others.problems).toEqual([]);
  expect(others.tallies).toHaveLength(othersExpected.scenarios);
  expect(total(others.tallies, 'failed')).toBe(0);
});

test('the page about conformance gives the numbers, and names every check that does not pass', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/conformance.md'), 'utf8');
  expect(suiteVersion).toBe(suite);
  const row = (tallies: readonly Tally[]) =>
    ['passed', 'failed', 'warned'].map((what) => total(tallies, what as 'passed')).join(' | ');
  expect(page).toContain(suite);
  expect(page).toContain(`| 10 | ${row(tasks.tallies)} |`);
  expect(page).toContain(`| ${othersExpected.scenarios} | ${row(others.tallies)} |`);
  const listed = [tasksExpected, othersExpected].flatMap(({ known }) => Object.entries(known));
  for (const [scenario, checks] of listed)
    for (const check of [scenario, ...Object.keys(checks)]) expect(page).toContain(`\`${check}\``);
  const named = page.match(/`(sep|tasks)-[a-z0-9-]+`/g) ?? [];
  const known = listed.flatMap(([, checks]) => Object.keys(checks));
  expect(new Set(named)).toEqual(new Set([...known, ...tasksExpected.skipped].map((id) => `\`${id}\``)));
});

// --- What can fool whoever trusts exit codes --------------------------------------------------------------

/** An address at which nobody listens any more. */
async function nobody(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}/mcp`;
}

test('a tasks scenario that is run with a revision ends with code 0, and counts for nothing', async () => {
  const options = ['--scenario', 'tasks-wire-fields', '--spec-version', '2026-07-28'];
  const recording = await record(await nobody(), ...options);
  expect(recording.code).toBe(0);
  const [one] = tally(['tasks-wire-fields'], recording);
  expect(one).toMatchObject({ passed: 0, failed: 0, skipped: true });
  expect(problems([one!], { passed: 4, skipped: [], known: {} })).toEqual([
    'Only 0 checks passed; there must be 4.',
    'tasks-wire-fields was skipped by the suite.',
  ]);
});

test('where no server answers, checks fail', async () => {
  const [one] = tally(['ping'], await record(await nobody(), '--scenario', 'ping'));
  expect(one).toMatchObject({ failed: 1, skipped: false });
});

test('a scenario that the suite does not know is a failure', async () => {
  const [one] = tally(['tides'], await record(await nobody(), '--scenario', 'tides'));
  expect(one).toMatchObject({ passed: 0, failed: 1, skipped: false });
});
