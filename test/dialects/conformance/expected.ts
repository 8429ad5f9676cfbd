/**
 * What the suite must say of the fixture server. `docs/conformance.md` tells the same to people; a test holds the two
 * together.
 */
import type { Expectation } from './verdict.ts';

export const suite = '0.2.0-alpha.12';

/** The scenarios of the Tasks extension. */
export const tasksExpected: Expectation = {
  passed: 44,
  skipped: ['tasks-status-notifications'],
  known: {},
};

/** The other scenarios of 2026-07-28. */
export const othersExpected: Expectation & { readonly scenarios: number } = {
  scenarios: 40,
  passed: 152,
  skipped: [],
  known: {},
};
