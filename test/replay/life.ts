/** The life of one task: pass after pass, with deaths and parking in between, until its handler ends. */
import type { StepContext } from '../../src/engine/call.ts';
import { taskContext } from '../../src/engine/context.ts';
import type { Pass } from '../../src/engine/pass.ts';
import type { PassEnd } from '../../src/engine/pass-host.ts';
import { Host, type Manners } from './host.ts';
import type { Program } from './program.ts';
import { endOf } from './step-ends.ts';
import { type Effects, type Story, subtaskTool, Threw, tell, wrongValues } from './tell.ts';
import { WorkBook } from './work-book.ts';
import type { World } from './world.ts';

/** Who decides what takes how long, in what order things happen, and when workers die. */
export interface Player extends Omit<Manners, 'die'> {
  /** Does some work of a step, sooner or later. The key is the same for the same attempt of the same step. */
  work<T>(key: string, act: () => T): T | Promise<T>;
  /** Whether polls see nothing at first. */
  readonly polls: boolean;
  /** Makes things happen while a pass runs, until it is over. */
  accompany(running: Running): Promise<void>;
  /** Makes something happen while no pass runs. False if nothing can. */
  stir(world: World): boolean;
  died(): void;
}

/** A pass that runs, as the one who plays the world sees it. */
export interface Running {
  readonly pass: Pass;
  readonly host: Host;
  readonly world: World;
  readonly isOver: boolean;
  /** Lines that the handler has written so far, and work that it has begun: they grow while something goes on. */
  readonly signs: () => number;
  /** Whether the handler has settled and made again everything that is recorded. */
  readonly isAhead: () => boolean;
  readonly over: Promise<void>;
  /** The worker is killed, now. */
  kill(): void;
  /** The worker is taken for dead, and goes on as if nothing were. */
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
  readonly stopIf?: (world: World) => boolean;
  /** How long a pass may take before it counts as hanging. */
  readonly patienceMs?: number;
}

/** A life with more passes than this has no end. */
const maxPasses = 10_000;

export async function live(setting: Setting): Promise<Life> {
  const { world, player, stopIf } = setting;
  const book = new WorkBook(world);
  let deaths = 0;
  const told = (end: Life['end'], passes: number): Life => {
    const story = storyOf(end);
    const problems = [...book.problems, ...(story ? wrongValues(story) : [])];
    return { end, story, passes, deaths, problems };
  };
  for (let passes = 1; passes <= maxPasses; passes++) {
    let claim = world.claim(`worker ${passes}`);
    while (!claim) {
      if (!player.stir(world)) return told({ type: 'hanging' }, passes);
      claim = world.claim(`worker ${passes}`);
    }
    const end = await onePass(setting, book, claim.epoch);
    if (end.type === 'stopped') deaths++;
    const goesOn = end.type === 'parked' || end.type === 'stopped';
    if (!goesOn || stopIf?.(world)) return told(end, passes);
  }
  return told({ type: 'endless' }, maxPasses);
}

function storyOf(end: { readonly type: string }): Story | undefined {
  if ('value' in end) return end.value as Story;
  return 'error' in end && end.error instanceof Threw ? end.error.story : undefined;
}

/** One pass under the claim that was just taken. A pass that was taken for dead counts as stopped. */
async function onePass(
  { Pass, program, world, player, patienceMs = 30_000 }: Setting,
  book: WorkBook,
  epoch: number,
): Promise<Life['end']> {
  const gone = Promise.withResolvers<Life['end']>();
  const patience = setTimeout(() => gone.resolve({ type: 'hanging' }), patienceMs);
  let isOver = false;
  let killed = false;
  let signs = 0;
  const manners: Manners = {
    lingerMs: player.lingerMs,
    pause: () => player.pause(),
    fate: () => player.fate(),
    die() {
      player.died();
      kill();
    },
  };
  const host = new Host(world, { taskId: world.taskId, epoch }, manners);
  const { task } = world;
  const journal = world.journal();
  const recorded = journal.calls.length;
  const pass = new (counting(Pass))(journal, task, host);
  const kill = () => {
    killed = true;
    pass.stop();
  };
  const work = <T>(key: string, context: StepContext | undefined, act: () => T) => {
    signs++;
    if (!isOver && context) book.begins(key, context);
    return player.work(key, act);
  };
  const effects: Effects = {
    step: (path, step, context) =>
      work(`${path} ${context.attempt}`, context, () => endOf(step, path, context.attempt)),
    look: (path, { looks }) =>
      work(path, undefined, () => (player.polls ? book.look(path, looks) : { path })),
    expects: (event) => world.expects(event),
    begins: () => signs++,
    ordinalOf: (id) => world.ordinalOf(id),
  };
  const context = taskContext({
    task,
    tool: subtaskTool,
    pass,
    signal: new AbortController().signal,
    report: () => {},
    cancel: async (id, path) => {
      await work(`cancel ${path}`, undefined, () => world.cancel(id, path));
    },
  });
  const forget = world.onChange(() => pass.poke());
  pass.run(() => tell(program, context, effects));
  const ended = Promise.race([pass.ended, gone.promise]).then((end) => {
    isOver = true;
    clearTimeout(patience);
    forget();
    if (end.type === 'stopped') book.passStopped(killed);
    book.problems.push(...host.problems);
    return end;
  });
  await player.accompany({
    pass,
    host,
    world,
    signs: () => signs,
    isAhead: () => pass.isLive && pass.calls >= recorded,
    get isOver() {
      return isOver;
    },
    over: ended.then(() => {}),
    kill,
    lose() {
      killed = true;
      gone.resolve({ type: 'stopped' });
    },
    giveUp: () => gone.resolve({ type: 'hanging' }),
  });
  return ended;
}

type CountingPasses = new (...parts: ConstructorParameters<typeof Pass>) => Pass & { readonly calls: number };

const countingPasses = new Map<typeof Pass, CountingPasses>();

/** Passes that count the calls of their handlers. */
function counting(Passes: typeof Pass): CountingPasses {
  let Counting = countingPasses.get(Passes);
  Counting ??= class extends Passes {
    calls = 0;

    override call(...call: Parameters<Pass['call']>): Promise<unknown> {
      this.calls++;
      return super.call(...call);
    }
  };
  countingPasses.set(Passes, Counting);
  return Counting;
}
