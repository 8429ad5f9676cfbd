/** Plays the world at random: everything may take any time, and any number of things may complete at once. */
import type { Chance } from './chance.ts';
import type { Fate } from './host.ts';
import type { Player, Running } from './life.ts';
import type { World } from './world.ts';

export interface Dangers {
  /** How likely a worker dies at a commit, just before or just after it. */
  readonly atCommit?: number;
  /** How likely it dies, is told to stop, or is taken for dead, whenever something else might happen. */
  readonly between?: number;
}

export class FreePlayer implements Player {
  readonly polls = true;
  readonly lingerMs: number;
  readonly #chance: Chance;
  readonly #dangers: Dangers;
  /** How likely something happens, whenever it might. */
  readonly #pace: number;

  constructor(chance: Chance, dangers: Dangers = {}) {
    this.#chance = chance;
    this.#dangers = dangers;
    this.#pace = chance.oneOf([0.05, 0.3, 0.9]);
    this.lingerMs = chance.oneOf([0, 0, 1, 3]);
  }

  work<T>(_key: string, act: () => T): T | Promise<T> {
    const chance = this.#chance;
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
  }

  pause(): Promise<void> {
    const chance = this.#chance;
    switch (chance.weighted({ turns: 5, immediate: 3, timer: 2 })) {
      case 'turns':
        return turns(chance.below(3));
      case 'immediate':
        return immediates(1);
      case 'timer':
        return timer(chance.below(2));
    }
  }

  fate(): Fate {
    const { atCommit = 0 } = this.#dangers;
    return this.#chance.of(atCommit) ? this.#chance.oneOf(['lost', 'unheard', 'unheard']) : 'heard';
  }

  died(): void {}

  async accompany(running: Running): Promise<void> {
    const { between = 0 } = this.#dangers;
    while (!running.isOver) {
      await (this.#chance.of(0.7) ? immediates(1 + this.#chance.below(3)) : timer(1));
      if (running.isOver) return;
      if (this.#chance.of(between)) this.#strike(running);
      else if (this.#chance.of(this.#pace)) this.stir(running.world);
    }
  }

  stir(world: World): boolean {
    const happenings = world.happenings();
    if (happenings.length === 0) return false;
    this.#chance.oneOf(happenings).happen();
    return true;
  }

  #strike(running: Running): void {
    const how = this.#chance.oneOf(['kill', 'lose', 'stop'] as const);
    if (how === 'kill') running.kill();
    else if (how === 'lose') running.lose();
    else running.pass.yield();
  }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await null;
}

async function immediates(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
}

function timer(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
