/** What a run of the suite comes to, counted from the checks that it wrote down. */
import type { Recording } from './suite.ts';

export interface Tally {
  readonly scenario: string;
  readonly passed: number;
  readonly failed: number;
  readonly warned: number;
  /** Nothing was checked, because the suite would not. */
  readonly skipped: boolean;
  /** What failed, and what the suite warns of: a SHOULD that the server does not follow. */
  readonly shortfalls: readonly { readonly check: string; readonly message: string }[];
}

const nothing = { passed: 0, failed: 0, warned: 0, skipped: false, shortfalls: [] };

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** One tally for each scenario that should have been run. */
export function tally(scenarios: readonly string[], { code, output, checks }: Recording): Tally[] {
  const tallies = scenarios.map((scenario) => {
    const file = checks.get(scenario);
    if (file !== undefined) return counted(scenario, JSON.parse(file));
    if (output.includes(`SKIPPED: scenario '${scenario}' `)) return { ...nothing, scenario, skipped: true };
    return broken(scenario, `The suite wrote down no checks (exit code ${code}): ${output.slice(-1_000)}`);
  });
  if (code === 0 || tallies.some(({ failed }) => failed > 0)) return tallies;
  return scenarios.map((name) => broken(name, `No check failed, but the suite ended with code ${code}.`));
}

function counted(scenario: string, checks: readonly Check[]): Tally {
  if (checks.length === 0) return broken(scenario, 'The suite wrote down an empty list of checks.');
  if (checks.every(({ status }) => status === 'SKIPPED')) return { ...nothing, scenario, skipped: true };
  const having = (wanted: string) => checks.filter(({ status }) => status === wanted);
  const failures = having('FAILURE');
  const warnings = having('WARNING');
  return {
    ...nothing,
    scenario,
    passed: having('SUCCESS').length,
    failed: failures.length,
    warned: warnings.length,
    shortfalls: [...failures, ...warnings].map(({ id, errorMessage = 'no reason given' }) => ({
      check: id,
      message: errorMessage,
    })),
  };
}

function broken(scenario: string, message: string): Tally {
  return { ...nothing, scenario, failed: 1, shortfalls: [{ check: 'the run itself', message }] };
}
