/**
 * Plays the world in one fixed order. Whenever a pass has come to rest, exactly one thing happens: of all that could,
 * the one whose name draws the lowest number. What could happen depends on the journal alone, so a task that dies
 * after every commit lives through the same order as one that is left in peace.
 */
import { setTimeout as pause, setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { Chance, hash } from './chance.ts';
import type { Player, Running } from './life.ts';
import type { Happening, World } from './world.ts';

/** Turns of the event loop without any sign of life, after which a pass is at rest. */
const restfulTurns = 3;
const briefMs = 3;
/** Waits of that length, with nothing that could happen, after which a pass hangs. */
const hopeless = 1_000;

export function conductor(seed: number, diesAfterEveryCommit: boolean): Player {
  const chance = new Chance('conductor', seed);
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
      if (chance.of(0.3)) await turnOfTheLoop();
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
        const waits = work.size === 0 && chance.of(0.3);
        if (!waits && stir(running.world)) idle = 0;
        else idle++;
        if (idle > 0) await Promise.race([running.over, pause(briefMs)]);
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
