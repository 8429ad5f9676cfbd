/**
 * The official suite against the fixture server, and what it must say of it. `docs/conformance.md` tells the same to
 * people; a test holds the two together.
 */
import { startFixture } from '../interop/fixture.ts';
import { record, serverScenarios } from './suite.ts';
import { type Expectation, problems, type Tally, tally } from './verdict.ts';

export const suite = '0.2.0-alpha.12';
const revision = '2026-07-28';

export const tasksExpected: Expectation = {
  scenarios: 10,
  passed: 44,
  skipped: ['tasks-status-notifications'],
  known: {},
};

export const othersExpected: Expectation = { scenarios: 40, passed: 152, skipped: [], known: {} };

export type Part = ReturnType<typeof judged>;

function judged(tallies: readonly Tally[], expected: Expectation) {
  const { length } = tallies;
  const { scenarios } = expected;
  const miscounted = length === scenarios ? [] : [`The suite has ${length} scenarios, not ${scenarios}.`];
  return { tallies, problems: [...miscounted, ...problems(tallies, expected)] };
}

/** Against the fixture server just as everyone else meets it. */
export async function runTasks(): Promise<Part> {
  const all = await serverScenarios();
  const names = all.map(({ name }) => name).filter((name) => name.startsWith('tasks-'));
  await using server = await startFixture();
  const tallies: Tally[] = [];
  // One by one, and without a revision: the suite then skips what belongs to an extension.
  for (const name of names) tallies.push(...tally([name], await record(server.url.href, '--scenario', name)));
  return judged(tallies, tasksExpected);
}

/** Against a fixture server that also has what these scenarios ask for. */
export async function runOthers(): Promise<Part> {
  const all = await serverScenarios();
  const names = all.filter(({ revisions }) => revisions.includes(revision)).map(({ name }) => name);
  await using server = await startFixture('--conformance');
  const recording = await record(server.url.href, '--suite', 'all', '--spec-version', revision);
  return judged(tally(names, recording), othersExpected);
}
