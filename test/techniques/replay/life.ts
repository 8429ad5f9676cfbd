/** The life of one task: pass after pass, with deaths and parking in between, until its handler ends. */
import type { Pass } from '../../../src/engine/pass.ts';
import type { PassEnd } from '../../../src/engine/pass-host.ts';
import type { Claim } from '../../../src/engine/queue.ts';
import { hostIn, type Manners, run } from './host.ts';
import type { Program } from './program.ts';
import { endOf } from './step-ends.ts';
import { type Effects, type Story, Threw, tell, wrongValues } from './tell.ts';
import { WorkBook } from './work-book.ts';
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
  /** Kills the worker, now. */
  kill(): void;
  /** Takes the worker for dead, while it continues as if nothing had happened. */
  lose(): void;
  /** Nothing more can happen, and the pass does not end. */
  giveUp(): void;
}

export interface Life {
  readonly end: PassEnd | { readonly type: 'hanging' | 'endless' };
  readonly story: Story | undefined;
  readonly passes: number;
  /** Passes that ended in the middle, because their worker died, stopped or was taken for dead. */
  readonly deaths: number;
  readonly problems: readonly string[];
}

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

export async function live(setting: Setting): Promise<Life> {
  const { world, player, stopIf } = setting;
  const book = new WorkBook(world);
  let end: Life['end'] = { type: 'endless' };
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

function storyOf(end: Life['end']): Story | undefined {
  if ('value' in end) return end.value as Story;
  return 'error' in end && end.error instanceof Threw ? end.error.story : undefined;
}

/** One pass under the claim that was just taken. A pass that was taken for dead counts as stopped. */
async function onePass(
  { Pass, program, world, player, patienceMs = 300_000 }: Setting,
  book: WorkBook,
  claim: Claim,
): Promise<Life['end']> {
  const gone = Promise.withResolvers<Life['end']>();
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
