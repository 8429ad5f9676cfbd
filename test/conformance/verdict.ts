/** Whether a set of runs came out as it must. */
import type { Tally } from './tally.ts';

/** Checks that do not pass, by scenario, each with its cause. */
export type Known = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface Expectation {
  /** Exactly so many checks pass: a suite that checks less proves less. */
  readonly passed: number;
  /** The scenarios that the suite skips by itself. */
  readonly skipped: readonly string[];
  readonly known: Known;
}

/** Everything that is not as expected, a sentence each. None if all is well. */
export function problems(tallies: readonly Tally[], expected: Expectation): string[] {
  return [
    ...tallies.flatMap((one) => surprises(one, expected.known[one.scenario] ?? {})),
    ...neverRun(tallies, expected.known),
    ...wronglyCounted(total(tallies, 'passed'), expected.passed),
    ...wronglySkipped(tallies, expected.skipped),
  ];
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
  const healed = Object.keys(known).filter((id) => !shortfalls.some(({ check }) => check === id));
  return [
    ...unknown.map(({ check, message }) => `${scenario}: ${check} does not pass: ${inShort(message)}`),
    ...healed.map(
      (id) => `${scenario}: ${id} is listed among the checks that do not pass, and passes. Take it off.`,
    ),
  ];
}

function inShort(message: string): string {
  const line = message.replaceAll(/\s+/g, ' ').trim();
  return line.length > 500 ? `${line.slice(0, 500)} …` : line;
}

function neverRun(tallies: readonly Tally[], known: Known): string[] {
  const missing = Object.keys(known).filter((name) => !tallies.some(({ scenario }) => scenario === name));
  return missing.map((name) => `${name} has checks that are listed as not passing, and was not run.`);
}

function wronglyCounted(passed: number, expected: number): string[] {
  if (passed < expected) return [`Only ${passed} checks passed; there must be ${expected}.`];
  if (passed > expected)
    return [`${passed} checks passed where ${expected} are expected: count anew what the suite checks.`];
  return [];
}

function wronglySkipped(tallies: readonly Tally[], expected: readonly string[]): string[] {
  const skipped = tallies.filter((one) => one.skipped).map(({ scenario }) => scenario);
  return [
    ...skipped.filter((name) => !expected.includes(name)).map((name) => `${name} was skipped by the suite.`),
    ...expected.filter((name) => !skipped.includes(name)).map((name) => `${name} is no longer skipped.`),
  ];
}
