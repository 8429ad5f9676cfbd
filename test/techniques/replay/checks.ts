/** What must hold for every program, however it is interrupted. */
import type { TaskId } from '../../../src/model/task.ts';
import { Counts } from '../../kit/counts.ts';
import { inLanes } from '../../kit/lanes.ts';
import { hash, seededRandom } from '../../kit/random.ts';
import { type Life, live, type Player, type Setting } from './life.ts';
import { conductor, type Dangers, freePlayer, spectator } from './players.ts';
import type { Program } from './program.ts';
import type { Story } from './tell.ts';
import { World } from './world.ts';

export interface Problem {
  readonly seed: number;
  readonly check: string;
  readonly what: string;
}

/** The passes to check, and how long each may take. */
export type Checked = Pick<Setting, 'Pass' | 'patienceMs'>;

const atOnce = 50;

/** Puts each program to a check, until that has found enough problems. */
export async function checkEach(
  programs: Iterable<Program>,
  check: (program: Program, problem: (check: string, what: string) => void) => Promise<void>,
  enough = Infinity,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const one = (program: Program) =>
    check(program, (name, what) => problems.push({ seed: program.seed, check: name, what }));
  await inLanes(programs, atOnce, one, () => problems.length < enough);
  return problems;
}

export type Tally = Awaited<ReturnType<typeof checkLives>>;

export async function checkLives(checked: Checked, programs: Iterable<Program>, enough?: number) {
  /** Programs, their passes, entries and commits, and the passes that ended in the middle. */
  const counts = new Counts();
  /** Kinds of calls that were settled, and how often. */
  const settled = new Counts();
  const check = async (program: Program, problem: (check: string, what: string) => void) => {
    counts.add('programs');
    const play = async (name: string, world: World, player: Player): Promise<Life> => {
      const life = await live({ ...checked, program, world, player });
      counts.add('passes', life.passes);
      counts.add('crashes', life.deaths);
      if (player !== spectator) {
        const { entries, calls } = world.recorded;
        counts.add('entries', entries.length);
        counts.add('commits', world.commits);
        for (const { call } of entries) settled.add(calls[call]!.kind);
      }
      for (const what of life.problems) problem(name, what);
      if (!life.story) problem(name, described(life.end));
      return life;
    };

    /** Interrupted or not, a handler is replayed to the same end by the journal that is left. */
    const freely = async (name: string, dangers: Dangers) => {
      const world = new World(program.seed);
      const { story } = await play(name, world, freePlayer(seededRandom(hash(name, program.seed)), dangers));
      if (!story) return;
      const { commits } = world;
      const replayed = await play(`${name}, replayed`, world, spectator);
      for (const what of differences(story, replayed.story)) problem(`${name}, replayed`, what);
      if (world.commits > commits) problem(name, 'A replay of the whole journal added to it.');
    };
    await freely('straight through', {});
    await freely('deaths at random', { atCommit: 0.2, between: 0.04 });

    // Dying after every single commit changes nothing, if things happen in the same order.
    const [inPeace, dying] = [new World(program.seed), new World(program.seed)];
    const name = 'deaths after every commit';
    const { story } = await play('one thing at a time', inPeace, conductor(program.seed, false));
    if (!story) return;
    const { deaths, ...life } = await play(name, dying, conductor(program.seed, true));
    for (const what of differences(story, life.story)) problem(name, what);
    if (!life.story) return;
    for (const what of difference('journal', laidOut(inPeace), laidOut(dying))) problem(name, what);
    if (deaths < dying.commits) problem(name, `only ${deaths} of ${dying.commits}`);
  };
  const problems = await checkEach(programs, check, enough);
  return { counts, settled, problems };
}

function described(end: Life['end']): string {
  if ('message' in end) return `${end.type}: ${end.message}`;
  return 'error' in end ? `${end.type}: ${end.error}` : end.type;
}

/** A life without a story is a problem of its own. */
function differences(one: Story, other: Story = one): string[] {
  return [
    ...difference('log', one.log, other.log),
    ...difference('clock', one.moments, other.moments),
    ...difference('end', [one.how, one.value], [other.how, other.value]),
  ];
}

function difference(what: string, one: readonly unknown[], other: readonly unknown[]): string[] {
  const [here, there] = [one, other].map((list) => list.map((item) => JSON.stringify(item)));
  const n = Array.from({ length: Math.max(one.length, other.length) }).findIndex(
    (_, n) => here![n] !== there![n],
  );
  return n === -1 ? [] : [`The ${what} differs at ${n}: ${here![n]}, then ${there![n]}`];
}

/** The calls and entries of a journal, with the ids of subtasks replaced by the order in which they were started. */
function laidOut(world: World): unknown[] {
  const { calls, entries } = world.recorded;
  const named = (text: string) =>
    text.replace(/[a-z2-7]{32}/, (id: TaskId) => `subtask ${world.ordinalOf(id)}`);
  return [
    ...calls.map(({ name, ...call }) => ({ ...call, name: named(name) })),
    ...entries.map(({ call, ok, value }) => [call, ok, named(JSON.stringify(value) ?? '')]),
  ];
}

/** A run that settles calls of some kinds only would be too tame to prove anything. */
export const allKinds = ['ask', 'event', 'result', 'sleep', 'start', 'step', 'until'];

export function summary({ problems, counts, settled }: Tally, seed: number): string {
  return `${counts}, ${problems.length} problems\n${settled}\n${howToRepeat(seed, problems)}`;
}

export function howToRepeat(seed: number, problems: readonly Problem[] = []): string {
  return `seed ${seed}; to repeat: HOLDFAST_SEED=${problems[0]?.seed ?? seed} npm test -- test/techniques/replay`;
}
