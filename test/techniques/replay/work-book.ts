/** Keeps account of the work that passes begin: what is committed is never done again, the rest no oftener than need be. */
import type { StepContext } from '../../../src/engine/call.ts';
import { Counts } from '../../kit/counts.ts';
import type { World } from './world.ts';

export class WorkBook {
  readonly problems: string[] = [];
  readonly #world: World;
  readonly #keys = new Map<string, string>();
  readonly #runs = new Counts();
  readonly #interruptions = new Counts();
  readonly #looks = new Counts();
  /** Attempts in flight, and the positions of their calls. */
  readonly #inFlight = new Map<string, { readonly position: number; readonly attempt: number }>();

  constructor(world: World) {
    this.#world = world;
  }

  /** An attempt at the step of this path begins. */
  begins(path: string, { key, attempt }: StepContext): void {
    const position = Number(key.split('/').at(-1));
    const name = `${path} ${attempt}`;
    const failed = this.#failedAt(position);
    if (this.#isSettled(position)) this.problems.push(`A committed step ran again: ${name}`);
    if (attempt !== failed + 1) this.problems.push(`Attempt ${attempt} was made after ${failed}: ${name}`);
    const before = this.#keys.get(path) ?? key;
    if (before !== key) this.problems.push(`The key of a step changed from ${before} to ${key}: ${name}`);
    this.#keys.set(path, key);
    const runs = this.#runs.add(name);
    if (runs > 1 + (this.#interruptions.get(name) ?? 0))
      this.problems.push(`An attempt was made ${runs} times without an interruption: ${name}`);
    this.#inFlight.set(name, { position, attempt });
  }

  /** What a killed pass had in flight may be done once more; one that was asked to stop has nothing in flight. */
  passStopped(killed: boolean): void {
    for (const [name, { position, attempt }] of this.#inFlight) {
      if (this.#isSettled(position) || attempt <= this.#failedAt(position)) continue;
      this.#interruptions.add(name);
      if (!killed) this.problems.push(`A pass that was asked to stop left work undone: ${name}`);
    }
    this.#inFlight.clear();
  }

  /** What a poll sees: nothing at first, in one of three forms. */
  look(path: string, looks: number): unknown {
    const count = this.#looks.add(path);
    return count < looks ? [false, null, undefined][count % 3] : { path };
  }

  #isSettled(position: number): boolean {
    return this.#world.recorded.entries.some(({ call }) => call === position);
  }

  #failedAt(position: number): number {
    return this.#world.recorded.attempts.get(position)?.length ?? 0;
  }
}
