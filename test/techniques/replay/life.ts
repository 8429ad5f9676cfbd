/** The life of one task: pass after pass, with deaths and parking in between, until its handler ends. */

import type { Pass, PassEnd } from '../../../src/engine/replay/pass.ts';
import type { StepContext } from '../../../src/index.ts';
import type { Claim } from '../../../src/store.ts';
import { Counts } from '../../kit/counts.ts';
import { hostIn, type Manners, run } from './host.ts';
import type { Program } from './program.ts';
import { type Effects, endOf, type Story, Threw, tell, wrongValues } from './tell.ts';
import type { World } from './world.ts';

/** Decides what takes how long, in what order things happen, and when workers die. */
export interface Player extends Manners {
  /** Does some work of a step, sooner or later. The key is the same for the same attempt of the same step. */
  work<T>(key: string, act: () => T): T | Promise<T>;
  /** Whether polls see nothing at first. */
  readonly polls: boolean;
  /** Makes things happen while a pass runs, until it is over. */
  accompany(running: Running): Promise<void>;
  /** Makes something happen while no pass runs. False if nothing can. */
  stir(world: World): boolean;
}

/** A pass that runs, as the player sees it. */
export interface Running {
  readonly pass: Pass;
  readonly world: World;
  readonly isOver: () => boolean;
  readonly over: Promise<unknown>;
  /** Grows while the pass asks for something or its handler works. */
  readonly signs: () => number;
  /** Whether a commit or a look is under way, or the handler has not yet repeated everything that is recorded. */
  readonly isBusy: () => boolean;
  kill(): void;
  /** Takes the worker for dead, while it continues as if nothing had happened. */
  lose(): void;
  /** Nothing more can happen, and the pass does not end. */
  giveUp(): void;
}

export type Life = Awaited<ReturnType<typeof live>>;
type End = PassEnd | { readonly type: 'hanging' | 'endless' };

export interface Setting {
  readonly Pass: typeof Pass;
  readonly program: Program;
  readonly world: World;
  readonly player: Player;
  /** Ends the life early, between two passes. */
  readonly stopIf?: () => boolean;
  /** How long a pass may take before it counts as hanging. */
  readonly patienceMs?: number;
}

/** A life with more passes than this has no end. */
const maxPasses = 10_000;

export async function live(setting: Setting) {
  const { world, player, stopIf } = setting;
  const book = workBook(world);
  let end: End = { type: 'endless' };
  /** Passes that ended in the middle, because their worker died, stopped or was taken for dead. */
  let deaths = 0;
  let passes = 0;
  while (passes < maxPasses) {
    const name = `worker ${++passes}`;
    let claim = world.claim(name);
    while (!claim && player.stir(world)) claim = world.claim(name);
    end = claim ? await onePass(setting, book, claim) : { type: 'hanging' };
    if (end.type === 'stopped') deaths++;
    else if (end.type !== 'parked') break;
    if (stopIf?.()) break;
  }
  const story = storyOf(end);
  return { end, story, passes, deaths, problems: [...book.problems, ...(story ? wrongValues(story) : [])] };
}

function storyOf(end: End): Story | undefined {
  if ('value' in end) return end.value as Story;
  return 'error' in end && end.error instanceof Threw ? end.error.story : undefined;
}

/** One pass under the claim that was just taken. A pass that was taken for dead counts as stopped. */
async function onePass(
  { Pass, program, world, player, patienceMs = 300_000 }: Setting,
  book: ReturnType<typeof workBook>,
  claim: Claim,
): Promise<End> {
  const gone = Promise.withResolvers<End>();
  const giveUp = () => gone.resolve({ type: 'hanging' });
  const patience = setTimeout(giveUp, patienceMs);
  let isOver = false;
  let killed = false;
  let signs = 0;
  const kill = () => {
    killed = true;
    pass.stop();
  };
  const { task } = world;
  const { host, activity } = hostIn(world, claim, player, kill);
  const journal = world.journal();
  const recorded = journal.calls.length;
  const pass = new Pass(journal, task, host);
  let calls = 0;
  const call = pass.call.bind(pass);
  pass.call = (...given) => {
    calls++;
    return call(...given);
  };
  const work = <T>(key: string, act: () => T) => {
    signs++;
    return player.work(key, act);
  };
  const effects: Effects = {
    step(path, step, context) {
      if (!isOver) book.begins(path, context);
      return work(`${path} ${context.attempt}`, () => endOf(step, path, context.attempt));
    },
    look: (path, { looks }) => work(path, () => (player.polls ? book.look(path, looks) : { path })),
    expects: (event) => world.expects(event),
    begins: () => signs++,
    ordinalOf: (id) => world.ordinalOf(id),
  };
  world.onChange = () => pass.poke();
  const running = run(
    pass,
    task,
    (context) => tell(program, context, effects),
    async (id, path) => {
      await work(`cancel ${path}`, () => world.cancel(id, path));
    },
  );
  const over = Promise.race([running, gone.promise]).then((end) => {
    isOver = true;
    clearTimeout(patience);
    world.onChange = () => {};
    if (end.type === 'stopped') book.passStopped(killed);
    book.problems.push(...activity.problems);
    return end;
  });
  await player.accompany({
    pass,
    world,
    isOver: () => isOver,
    over,
    signs: () => activity.asked + signs,
    isBusy: () => activity.underWay > 0 || !pass.isLive || calls < recorded,
    kill,
    lose() {
      killed = true;
      gone.resolve({ type: 'stopped' });
    },
    giveUp,
  });
  return over;
}

/** Keeps account of the work that passes begin: what is committed is never done again, the rest no oftener than need be. */
function workBook({ recorded }: World) {
  const problems: string[] = [];
  const keys = new Map<string, string>();
  const [runs, interruptions, looks] = [new Counts(), new Counts(), new Counts()];
  /** Attempts in flight, and the positions of their calls. */
  const inFlight = new Map<string, { readonly position: number; readonly attempt: number }>();
  const isSettled = (position: number) => recorded.entries.some(({ call }) => call === position);
  const failedAt = (position: number) => recorded.attempts.get(position)?.length ?? 0;
  return {
    problems,

    begins(path: string, { key, attempt }: StepContext): void {
      const position = Number(key.split('/').at(-1));
      const name = `${path} ${attempt}`;
      const failed = failedAt(position);
      if (isSettled(position)) problems.push(`A committed step ran again: ${name}`);
      if (attempt !== failed + 1) problems.push(`Attempt ${attempt} was made after ${failed}: ${name}`);
      const before = keys.get(path) ?? key;
      if (before !== key) problems.push(`The key of a step changed from ${before} to ${key}: ${name}`);
      keys.set(path, key);
      const times = runs.add(name);
      if (times > 1 + (interruptions.get(name) ?? 0))
        problems.push(`An attempt was made ${times} times without an interruption: ${name}`);
      inFlight.set(name, { position, attempt });
    },

    /** What a killed pass had in flight may be done once more; one that was asked to stop has nothing in flight. */
    passStopped(killed: boolean): void {
      for (const [name, { position, attempt }] of inFlight) {
        if (isSettled(position) || attempt <= failedAt(position)) continue;
        interruptions.add(name);
        if (!killed) problems.push(`A pass that was asked to stop left work undone: ${name}`);
      }
      inFlight.clear();
    },

    /** What a poll sees: nothing at first, in one of three forms. */
    look(path: string, until: number): unknown {
      const count = looks.add(path);
      return count < until ? [false, null, undefined][count % 3] : { path };
    },
  };
}
