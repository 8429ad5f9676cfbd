/** Those who decide what takes how long, in what order things happen, and when workers die. */
import { setTimeout as timer, setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { hash, type Random, seededRandom } from '../../kit/random.ts';
import { calm } from './host.ts';
import type { Player, Running } from './life.ts';
import type { Happening, World } from './world.ts';

/** Lets nothing happen and no work be done: what is recorded must be enough. */
export const spectator: Player = {
  ...calm,
  polls: false,
  work(key) {
    throw new Error(`Work was begun in the replay of a whole journal: ${key}`);
  },
  accompany: async () => {},
  stir: () => false,
};

/** Turns of the event loop without any sign of life, after which a pass is at rest. */
const restfulTurns = 3;
const briefMs = 3;
/** Waits of that length, with nothing that could happen, after which a pass hangs. */
const hopeless = 1_000;

/**
 * Plays the world in one fixed order. Whenever a pass has come to rest, exactly one thing happens: of all that could,
 * the one whose name draws the lowest number. What could happen depends on the journal alone, so a task that dies
 * after every commit lives through the same order as one that is left in peace.
 */
export function conductor(seed: number, diesAfterEveryCommit: boolean): Player {
  const random = seededRandom(hash('conductor', seed));
  const work = new Map<string, () => void>();

  const stir = (world: World): boolean => {
    const waiting = [...work].map(([name, release]) => ({ name, happen: release }));
    const draw = ({ name }: Happening) => hash(seed, name);
    const [first] = [...waiting, ...world.happenings()].sort((one, other) => draw(one) - draw(other));
    first?.happen();
    return first !== undefined;
  };

  return {
    ...{ lingerMs: 0, stir },
    /** A poll that saw nothing is not recorded, so a crash would shift the next one. */
    polls: false,
    fate: () => (diesAfterEveryCommit ? 'unheard' : 'heard'),
    async pause() {
      if (random.chance(0.3)) await turnOfTheLoop();
    },
    async work(key, act) {
      await new Promise<void>((resolve) => work.set(key, resolve));
      work.delete(key);
      return act();
    },
    async accompany(running) {
      for (let idle = 0; idle < hopeless; ) {
        await rest(running);
        if (running.isOver()) return work.clear();
        // Left alone, a pass that only waits parks; whether it does must make no difference.
        const waits = work.size === 0 && random.chance(0.3);
        if (!waits && stir(running.world)) idle = 0;
        else idle++;
        if (idle > 0) await Promise.race([running.over, timer(briefMs)]);
      }
      running.giveUp();
    },
  };
}

async function rest({ isOver, isBusy, signs }: Running): Promise<void> {
  for (let seen = signs(), quiet = 0; quiet < restfulTurns && !isOver(); quiet++) {
    await turnOfTheLoop();
    if (isBusy() || signs() !== seen) quiet = 0;
    seen = signs();
  }
}

export interface Dangers {
  /** How likely a worker dies at a commit, just before or just after it. */
  readonly atCommit?: number;
  /** How likely it dies, is told to stop, or is taken for dead, whenever something else might happen. */
  readonly between?: number;
}

/** Plays the world at random: everything may take any time, and any number of things may complete at once. */
export function freePlayer(random: Random, { atCommit = 0, between = 0 }: Dangers = {}): Player {
  /** How likely something happens, whenever it might. */
  const pace = random.oneOf([0.05, 0.3, 0.9]);

  const stir = (world: World): boolean => {
    const happenings = world.happenings();
    if (happenings.length > 0) random.oneOf(happenings).happen();
    return happenings.length > 0;
  };
  /** Waits for a time that is random below a bound. */
  const waits = {
    async turns(bound: number): Promise<void> {
      for (let left = random.below(bound); left > 0; left--) await null;
    },
    async immediates(bound: number): Promise<void> {
      for (let left = 1 + random.below(bound); left > 0; left--) await turnOfTheLoop();
    },
    timer: (bound: number): Promise<void> => timer(random.below(bound)),
  };
  const strike = ({ kill, lose, pass }: Running) => random.oneOf([kill, lose, () => pass.yield()])();

  return {
    polls: true,
    lingerMs: random.oneOf([0, 0, 1, 3]),
    stir,
    work(_, act) {
      const wait = random.weighted({ atOnce: 3, turns: 5, immediates: 6, timer: 6 });
      if (wait === 'atOnce') return act();
      return waits[wait]({ turns: 12, immediates: 4, timer: 3 }[wait]).then(act);
    },
    pause() {
      const wait = random.weighted({ turns: 5, immediates: 3, timer: 2 });
      return waits[wait]({ turns: 3, immediates: 1, timer: 2 }[wait]);
    },
    fate: () => (random.chance(atCommit) ? random.oneOf(['lost', 'unheard', 'unheard']) : 'heard'),
    async accompany(running) {
      while (!running.isOver()) {
        await (random.chance(0.7) ? waits.immediates(3) : timer(1));
        if (running.isOver()) return;
        if (random.chance(between)) strike(running);
        else if (random.chance(pace)) stir(running.world);
      }
    },
  };
}
