/** Whether a set of runs came out as it must. */
import type { Tally } from './tally.ts';

export interface Expectation {
  /** Exactly so many checks pass: a suite that checks less proves less. */
  readonly passed: number;
  /** The scenarios that the suite skips by itself. */
  readonly skipped: readonly string[];
  /** Checks that do not pass, by scenario, each with its cause. */
  readonly known: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Everything that is not as expected, a sentence each. None if all is well. */
export function problems(tallies: readonly Tally[], expected: Expectation): string[] {
  const names = tallies.map(({ scenario }) => scenario);
  const skipped = tallies.filter((one) => one.skipped).map(({ scenario }) => scenario);
  return [
    ...tallies.flatMap((one) => surprises(one, expected.known[one.scenario] ?? {})),
    ...without(Object.keys(expected.known), names).map(
      (name) => `${name} has checks that are listed as not passing, and was not run.`,
    ),
    ...wronglyCounted(total(tallies, 'passed'), expected.passed),
    ...without(skipped, expected.skipped).map((name) => `${name} was skipped by the suite.`),
    ...without(expected.skipped, skipped).map((name) => `${name} is no longer skipped.`),
  ];
}

function without(names: readonly string[], others: readonly string[]): string[] {
  return names.filter((name) => !others.includes(name));
}

export function total(tallies: readonly Tally[], what: 'passed' | 'failed' | 'warned'): number {
  return tallies.reduce((sum, one) => sum + one[what], 0);
}

export function closingLine(tallies: readonly Tally[]): string {
  const skipped = tallies.filter((one) => one.skipped).length;
  return `conformance: ${total(tallies, 'passed')} passed, ${total(tallies, 'failed')} failed, ${skipped} skipped`;
}

function surprises({ scenario, shortfalls }: Tally, known: Readonly<Record<string, string>>): string[] {
  const unknown = shortfalls.filter(({ check }) => !Object.hasOwn(known, check));
  const failing = shortfalls.map(({ check }) => check);
  return [
    ...unknown.map(({ check, message }) => `${scenario}: ${check} does not pass: ${inShort(message)}`),
    ...without(Object.keys(known), failing).map(
      (id) => `${scenario}: ${id} is listed among the checks that do not pass, and passes. Take it off.`,
    ),
  ];
}

function inShort(message: string): string {
  const line = message.replaceAll(/\s+/g, ' ').trim();
  return line.length > 500 ? `${line.slice(0, 500)} …` : line;
}

function wronglyCounted(passed: number, expected: number): string[] {
  if (passed < expected) return [`Only ${passed} checks passed; there must be ${expected}.`];
  if (passed > expected)
    return [`${passed} checks passed where ${expected} are expected: count anew what the suite checks.`];
  return [];
}
