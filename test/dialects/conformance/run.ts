/** The official suite against the fixture server: the Tasks extension first, then the rest of 2026-07-28. */
import { startFixture } from '../interop/fixture.ts';
import { othersExpected, tasksExpected } from './expected.ts';
import { record, serverScenarios } from './suite.ts';
import { type Tally, tally } from './tally.ts';
import { problems } from './verdict.ts';

const revision = '2026-07-28';

export interface Part {
  readonly tallies: readonly Tally[];
  readonly problems: readonly string[];
}

/** Against the fixture server just as everyone else meets it. */
export async function runTasks(): Promise<Part> {
  const all = await serverScenarios();
  const names = all.map(({ name }) => name).filter((name) => name.startsWith('tasks-'));
  await using server = await startFixture();
  const tallies: Tally[] = [];
  // One by one, and without a revision: the suite then skips what belongs to an extension.
  for (const name of names) tallies.push(...tally([name], await record(server.url.href, '--scenario', name)));
  return { tallies, problems: problems(tallies, tasksExpected) };
}

/** Against a fixture server that also has what these scenarios ask for. */
export async function runOthers(): Promise<Part> {
  const all = await serverScenarios();
  const names = all.filter(({ revisions }) => revisions.includes(revision)).map(({ name }) => name);
  await using server = await startFixture('--conformance');
  const tallies = tally(names, await record(server.url.href, '--suite', 'all', '--spec-version', revision));
  const { scenarios } = othersExpected;
  const miscounted =
    names.length === scenarios
      ? []
      : [`The suite has ${names.length} other scenarios of ${revision}, not ${scenarios}.`];
  return { tallies, problems: [...miscounted, ...problems(tallies, othersExpected)] };
}
