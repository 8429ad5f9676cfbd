/** What a run of the suite comes to, counted from the checks that it wrote down, and whether that is as it must be. */
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

export interface Expectation {
  readonly scenarios: number;
  /** Exactly so many checks pass: a suite that checks less proves less. */
  readonly passed: number;
  readonly skipped: readonly string[];
  /** Checks that do not pass, by scenario, each with its cause. */
  readonly known: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const nothing = { passed: 0, failed: 0, warned: 0, skipped: false, shortfalls: [] };

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

type Check = Readonly<{ id: string; status: string; errorMessage?: string }>;

function counted(scenario: string, checks: readonly Check[]): Tally {
  if (checks.length === 0) return broken(scenario, 'The suite wrote down an empty list of checks.');
  if (checks.every(({ status }) => status === 'SKIPPED')) return { ...nothing, scenario, skipped: true };
  const [passes, failures, warnings] = ['SUCCESS', 'FAILURE', 'WARNING'].map((wanted) =>
    checks.filter(({ status }) => status === wanted),
  ) as [Check[], Check[], Check[]];
  return {
    scenario,
    passed: passes.length,
    failed: failures.length,
    warned: warnings.length,
    skipped: false,
    shortfalls: [...failures, ...warnings].map(
      ({ id: check, errorMessage: message = 'no reason given' }) => ({
        check,
        message,
      }),
    ),
  };
}

function broken(scenario: string, message: string): Tally {
  return { ...nothing, scenario, failed: 1, shortfalls: [{ check: 'the run itself', message }] };
}

export function total(tallies: readonly Tally[], what: 'passed' | 'failed' | 'warned'): number {
  return tallies.reduce((sum, one) => sum + one[what], 0);
}

export function closingLine(tallies: readonly Tally[]): string {
  const skipped = tallies.filter((one) => one.skipped).length;
  return `conformance: ${total(tallies, 'passed')} passed, ${total(tallies, 'failed')} failed, ${skipped} skipped`;
}

/** Everything that is not as expected, a sentence each. None if all is well. */
export function problems(tallies: readonly Tally[], expected: Omit<Expectation, 'scenarios'>): string[] {
  const names = tallies.map(({ scenario }) => scenario);
  const skipped = tallies.filter((one) => one.skipped).map(({ scenario }) => scenario);
  const passed = total(tallies, 'passed');
  const sentences = [
    ...tallies.flatMap((one) => surprises(one, expected.known[one.scenario] ?? {})),
    ...without(Object.keys(expected.known), names).map(
      (name) => `${name} has checks that are listed as not passing, and was not run.`,
    ),
    passed < expected.passed && `Only ${passed} checks passed; there must be ${expected.passed}.`,
    passed > expected.passed &&
      `${passed} checks passed where ${expected.passed} are expected: count anew what the suite checks.`,
    ...without(skipped, expected.skipped).map((name) => `${name} was skipped by the suite.`),
    ...without(expected.skipped, skipped).map((name) => `${name} is no longer skipped.`),
  ];
  return sentences.filter((sentence) => sentence !== false);
}

function surprises({ scenario, shortfalls }: Tally, known: Readonly<Record<string, string>>): string[] {
  const unknown = shortfalls.filter(({ check }) => !Object.hasOwn(known, check));
  const failing = shortfalls.map(({ check }) => check);
  return [
    ...unknown.map(({ check, message }) => {
      const line = message.replaceAll(/\s+/g, ' ').trim();
      return `${scenario}: ${check} does not pass: ${line.length > 500 ? `${line.slice(0, 500)} …` : line}`;
    }),
    ...without(Object.keys(known), failing).map(
      (id) => `${scenario}: ${id} is listed among the checks that do not pass, and passes. Take it off.`,
    ),
  ];
}

function without(names: readonly string[], others: readonly string[]): string[] {
  return names.filter((name) => !others.includes(name));
}
