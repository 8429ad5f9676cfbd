/**
 * Plays the world in one fixed order. Whenever a pass has come to rest, exactly one thing happens: of all that could,
 * the one whose name draws the lowest number. What could happen depends on the journal alone, so a task that dies
 * after every commit lives through the same order as one that is left in peace.
 */
import { Chance, hash } from './chance.ts';
import type { Fate } from './host.ts';
import type { Player, Running } from './life.ts';
import type { Happening, World } from './world.ts';

/** Turns of the event loop without any sign of life, after which a pass is at rest. */
const restfulTurns = 3;
const briefMs = 3;
/** Waits of that length, with nothing that could happen, after which a pass hangs. */
const hopeless = 1_000;

export class Conductor implements Player {
  /** A poll that saw nothing is not recorded, so a crash would shift the next one. */
  readonly polls = false;
  readonly lingerMs = 0;
  readonly #seed: number;
  readonly #world: World;
  readonly #chance: Chance;
  readonly #diesAfterEveryCommit: boolean;
  readonly #diedAfter = new Set<number>();
  readonly #work = new Map<string, () => void>();

  constructor(seed: number, world: World, { diesAfterEveryCommit }: { diesAfterEveryCommit: boolean }) {
    this.#seed = seed;
    this.#world = world;
    this.#chance = new Chance('conductor', seed);
    this.#diesAfterEveryCommit = diesAfterEveryCommit;
  }

  work<T>(key: string, act: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#work.set(key, () => {
        try {
          resolve(act());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  async pause(): Promise<void> {
    if (this.#chance.of(0.3)) await turnOfTheLoop();
  }

  fate(): Fate {
    const dies = this.#diesAfterEveryCommit && !this.#diedAfter.has(this.#world.commits + 1);
    return dies ? 'unheard' : 'heard';
  }

  died(): void {
    this.#diedAfter.add(this.#world.commits);
    this.#work.clear();
  }

  async accompany(running: Running): Promise<void> {
    for (let idle = 0; idle < hopeless; ) {
      await this.#rest(running);
      if (running.isOver) return;
      // Left alone, a pass that only waits parks; whether it does must make no difference.
      const waits = this.#work.size === 0 && this.#chance.of(0.3);
      if (!waits && this.stir(running.world)) idle = 0;
      else idle++;
      if (idle > 0) await Promise.race([running.over, brief()]);
    }
    running.giveUp();
  }

  stir(world: World): boolean {
    const candidates = this.#candidates(world);
    const draw = ({ name }: Happening) => hash(this.#seed, name);
    const [first] = candidates.toSorted((one, other) => draw(one) - draw(other));
    first?.happen();
    return first !== undefined;
  }

  #candidates(world: World): Happening[] {
    const work = [...this.#work].map(([name, release]) => ({
      name,
      happen: () => {
        this.#work.delete(name);
        release();
      },
    }));
    return [...work, ...world.happenings()];
  }

  async #rest(running: Running): Promise<void> {
    const signs = () => running.host.asked + running.signs();
    for (let seen = signs(), quiet = 0; quiet < restfulTurns && !running.isOver; quiet++) {
      await turnOfTheLoop();
      if (running.host.underWay > 0 || !running.isAhead() || signs() !== seen) quiet = 0;
      seen = signs();
    }
  }
}

function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function brief(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, briefMs));
}
