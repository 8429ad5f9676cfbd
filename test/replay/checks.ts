/** What must hold for every program, however it is interrupted. */
import type { Journal } from '../../src/engine/journal.ts';
import type { TaskId } from '../../src/model/task.ts';
import { Chance } from './chance.ts';
import { Conductor } from './conductor.ts';
import { type Dangers, FreePlayer } from './free.ts';
import { inLanes } from './lanes.ts';
import { type Life, live, type Player, type Setting } from './life.ts';
import type { Program } from './program.ts';
import type { Story } from './tell.ts';
import { World } from './world.ts';

export interface Tally {
  programs: number;
  passes: number;
  entries: number;
  commits: number;
  /** Passes that ended in the middle. */
  deaths: number;
  /** Kinds of calls that were settled, and how often. */
  readonly settled: Map<string, number>;
  readonly problems: Problem[];
}

export interface Problem {
  readonly seed: number;
  readonly check: string;
  readonly what: string;
}

function newTally(): Tally {
  return { programs: 0, passes: 0, entries: 0, commits: 0, deaths: 0, settled: new Map(), problems: [] };
}

/** The passes to check, and how long each may take. */
export type Checked = Pick<Setting, 'Pass' | 'patienceMs'>;

class Checks {
  readonly #checked: Checked;
  readonly #tally: Tally;

  constructor(checked: Checked, tally: Tally) {
    this.#checked = checked;
    this.#tally = tally;
  }

  async all(program: Program): Promise<void> {
    this.#tally.programs++;
    await this.#straightThrough(program);
    await this.#inOneOrder(program);
    await this.#atRandom(program);
  }

  /** Run through in peace, a handler is replayed to the same end by its journal alone. */
  async #straightThrough(program: Program): Promise<void> {
    await this.#freely(program, 'straight through', {});
  }

  /** Whatever dies at whatever moment, the journal that is left in the end replays to the same end. */
  async #atRandom(program: Program): Promise<void> {
    await this.#freely(program, 'deaths at random', { atCommit: 0.2, between: 0.04 });
  }

  /** Dying after every single commit changes nothing, if things happen in the same order. */
  async #inOneOrder(program: Program): Promise<void> {
    const inPeace = await this.#conducted(program, false);
    if (!inPeace.life.story) return;
    const dying = await this.#conducted(program, true);
    if (!dying.life.story) return;
    const problem =
      storyDifference(inPeace.life.story, dying.life.story) ??
      difference('journal', laidOut(inPeace.world), laidOut(dying.world));
    if (problem) this.#problem(program, 'deaths after every commit', problem);
    const { deaths } = dying.life;
    if (deaths < dying.world.commits)
      this.#problem(program, 'deaths after every commit', `only ${deaths} of ${dying.world.commits}`);
  }

  async #conducted(program: Program, diesAfterEveryCommit: boolean) {
    const world = new World(program.seed);
    const player = new Conductor(program.seed, world, { diesAfterEveryCommit });
    const check = diesAfterEveryCommit ? 'deaths after every commit' : 'one thing at a time';
    const life = await this.#live(program, world, player, check);
    return { life, world };
  }

  async #freely(program: Program, check: string, dangers: Dangers): Promise<void> {
    const world = new World(program.seed);
    const player = new FreePlayer(new Chance(check, program.seed), dangers);
    const life = await this.#live(program, world, player, check);
    if (life.story) await this.#replay(program, world, life.story, `${check}, replayed`);
  }

  async #replay(program: Program, world: World, story: Story, check: string): Promise<void> {
    const { commits } = world;
    const life = await this.#live(program, world, new Spectator(), check);
    if (!life.story) return;
    const problem = storyDifference(story, life.story);
    if (problem) this.#problem(program, check, problem);
    if (world.commits > commits) this.#problem(program, check, 'A replay of the whole journal added to it.');
  }

  async #live(program: Program, world: World, player: Player, check: string): Promise<Life> {
    const life = await live({ ...this.#checked, program, world, player });
    const tally = this.#tally;
    tally.passes += life.passes;
    tally.deaths += life.deaths;
    if (!(player instanceof Spectator)) {
      const { entries, calls } = world.journal();
      tally.entries += entries.length;
      tally.commits += world.commits;
      for (const { call } of entries) {
        const { kind } = calls[call]!;
        tally.settled.set(kind, (tally.settled.get(kind) ?? 0) + 1);
      }
    }
    for (const problem of life.problems) this.#problem(program, check, problem);
    if (!life.story) this.#problem(program, check, described(life.end));
    return life;
  }

  #problem({ seed }: Program, check: string, what: string): void {
    this.#tally.problems.push({ seed, check, what });
  }
}

/** Lets nothing happen and no work be done: what is recorded must be enough. */
class Spectator implements Player {
  readonly polls = false;
  readonly lingerMs = 0;
  work<T>(key: string): Promise<T> {
    throw new Error(`Work was begun in the replay of a whole journal: ${key}`);
  }
  async pause(): Promise<void> {}
  fate(): 'heard' {
    return 'heard';
  }
  async accompany(): Promise<void> {}
  stir(): boolean {
    return false;
  }
  died(): void {}
}

function described(end: Life['end']): string {
  if ('message' in end) return `${end.type}: ${end.message}`;
  return 'error' in end ? `${end.type}: ${end.error}` : end.type;
}

function storyDifference(one: Story, other: Story): string | undefined {
  return (
    difference('log', one.log, other.log) ??
    difference('clock', one.moments, other.moments) ??
    difference('end', [one.how, one.value], [other.how, other.value])
  );
}

function difference(what: string, one: readonly unknown[], other: readonly unknown[]): string | undefined {
  for (let n = 0; n < Math.max(one.length, other.length); n++) {
    const [here, there] = [JSON.stringify(one[n]), JSON.stringify(other[n])];
    if (here !== there) return `The ${what} differs at ${n}: ${here}, then ${there}`;
  }
  return undefined;
}

/** The calls and entries of a journal, with the ids of subtasks replaced by the order in which they were started. */
function laidOut(world: World): unknown[] {
  const { calls, entries }: Journal = world.journal();
  const named = (text: string) =>
    text.replace(/[a-z2-7]{32}/, (id: TaskId) => `subtask ${world.ordinalOf(id)}`);
  return [
    ...calls.map(({ name, ...call }) => ({ ...call, name: named(name) })),
    ...entries.map(({ call, ok, value }) => [call, ok, named(JSON.stringify(value) ?? '')]),
  ];
}

export interface Many {
  readonly programs: Iterable<Program>;
  /** How many tasks live at the same time. */
  readonly atOnce: number;
  /** Problems after which there is no need to go on. */
  readonly enough?: number;
}

export async function checkMany(
  checked: Checked,
  { programs, atOnce, enough = Infinity }: Many,
): Promise<Tally> {
  const tally = newTally();
  const checks = new Checks(checked, tally);
  await inLanes(
    programs,
    atOnce,
    (program) => checks.all(program),
    () => tally.problems.length < enough,
  );
  return tally;
}
