/** `npm run conformance`: the official suite against the fixture server. See docs/conformance.md. */

import { type Part, runOthers, runTasks } from '../test/dialects/conformance/run.ts';
import { suiteVersion } from '../test/dialects/conformance/suite.ts';
import { closingLine, type Tally, total } from '../test/dialects/conformance/verdict.ts';

console.log(`@modelcontextprotocol/conformance ${suiteVersion}`);
const [tasks, others] = await Promise.all([runTasks(), runOthers()]);
console.log('\nThe Tasks extension:');
show(tasks);
console.log('\nThe other scenarios of 2026-07-28:');
show(others);
const { tallies } = others;
console.log(
  `${tallies.length} scenarios: ${total(tallies, 'passed')} checks passed, ${total(tallies, 'failed')} failed, ${total(tallies, 'warned')} warnings`,
);

const problems = [...tasks.problems, ...others.problems];
if (problems.length > 0) {
  console.log('\nNot as expected:');
  for (const problem of problems) console.log(`  ${problem}`);
  process.exitCode = 1;
}
console.log(`\n${closingLine(tasks.tallies)}`);

function show({ tallies }: Part): void {
  for (const one of tallies) console.log(`  ${one.scenario.padEnd(48)}${words(one)}`);
}

function words({ passed, failed, warned, skipped }: Tally): string {
  if (skipped) return 'skipped by the suite';
  const rest = [failed > 0 && `${failed} failed`, warned > 0 && `${warned} warnings`];
  return [`${passed} passed`, ...rest.filter(Boolean)].join(', ');
}
