/** Plays the world at random: everything may take any time, and any number of things may complete at once. */
import { setTimeout as timer, setImmediate as turnOfTheLoop } from 'node:timers/promises';
import type { Chance } from './chance.ts';
import type { Player, Running } from './life.ts';
import type { World } from './world.ts';

export interface Dangers {
  /** How likely a worker dies at a commit, just before or just after it. */
  readonly atCommit?: number;
  /** How likely it dies, is told to stop, or is taken for dead, whenever something else might happen. */
  readonly between?: number;
}

export function freePlayer(chance: Chance, { atCommit = 0, between = 0 }: Dangers = {}): Player {
  /** How likely something happens, whenever it might. */
  const pace = chance.oneOf([0.05, 0.3, 0.9]);

  const stir = (world: World): boolean => {
    const happenings = world.happenings();
    if (happenings.length > 0) chance.oneOf(happenings).happen();
    return happenings.length > 0;
  };
  const strike = ({ kill, lose, pass }: Running) => chance.oneOf([kill, lose, () => pass.yield()])();

  return {
    polls: true,
    lingerMs: chance.oneOf([0, 0, 1, 3]),
    stir,
    work(_, act) {
      switch (chance.weighted({ atOnce: 3, turns: 5, immediate: 6, timer: 6 })) {
        case 'atOnce':
          return act();
        case 'turns':
          return turns(chance.below(12)).then(act);
        case 'immediate':
          return immediates(1 + chance.below(4)).then(act);
        case 'timer':
          return timer(chance.below(3)).then(act);
      }
    },
    pause() {
      switch (chance.weighted({ turns: 5, immediate: 3, timer: 2 })) {
        case 'turns':
          return turns(chance.below(3));
        case 'immediate':
          return immediates(1);
        case 'timer':
          return timer(chance.below(2));
      }
    },
    fate: () => (chance.of(atCommit) ? chance.oneOf(['lost', 'unheard', 'unheard']) : 'heard'),
    async accompany(running) {
      while (!running.isOver()) {
        await (chance.of(0.7) ? immediates(1 + chance.below(3)) : timer(1));
        if (running.isOver()) return;
        if (chance.of(between)) strike(running);
        else if (chance.of(pace)) stir(running.world);
      }
    },
  };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await null;
}

async function immediates(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await turnOfTheLoop();
}
