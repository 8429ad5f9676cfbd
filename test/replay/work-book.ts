/** Keeps account of the work that passes begin: what is committed is never done again, the rest no oftener than need be. */
import type { StepContext } from '../../src/engine/call.ts';
import type { World } from './world.ts';

export class WorkBook {
  readonly problems: string[] = [];
  readonly #world: World;
  readonly #keys = new Map<string, string>();
  readonly #runs = new Map<string, number>();
  readonly #interruptions = new Map<string, number>();
  readonly #looks = new Map<string, number>();
  /** Work in flight, by the position of its call. */
  readonly #inFlight = new Map<number, string>();

  constructor(world: World) {
    this.#world = world;
  }

  /** An attempt at a step begins. */
  begins(attempt: string, { key, attempt: number }: StepContext): void {
    const position = Number(key.split('/').at(-1));
    if (this.#world.hasEntryFor(position)) this.problems.push(`A committed step ran again: ${attempt}`);
    if (number !== this.#world.failedAttemptsAt(position) + 1)
      this.problems.push(
        `Attempt ${number} was made after ${this.#world.failedAttemptsAt(position)}: ${attempt}`,
      );
    const [path] = attempt.split(' ');
    if ((this.#keys.get(path!) ?? key) !== key)
      this.problems.push(`The key of a step changed from ${this.#keys.get(path!)} to ${key}: ${attempt}`);
    this.#keys.set(path!, key);
    const runs = (this.#runs.get(attempt) ?? 0) + 1;
    this.#runs.set(attempt, runs);
    if (runs > 1 + (this.#interruptions.get(attempt) ?? 0))
      this.problems.push(`An attempt was made ${runs} times without an interruption: ${attempt}`);
    this.#inFlight.set(position, attempt);
  }

  /** What a killed pass had in flight may be done once more; one that was asked to stop has nothing in flight. */
  passStopped(killed: boolean): void {
    for (const [position, attempt] of this.#inFlight) {
      if (this.#world.hasEntryFor(position) || this.#isRecorded(position, attempt)) continue;
      this.#interruptions.set(attempt, (this.#interruptions.get(attempt) ?? 0) + 1);
      if (!killed) this.problems.push(`A pass that was asked to stop left work undone: ${attempt}`);
    }
    this.#inFlight.clear();
  }

  /** What a poll sees: nothing at first, in one of three forms. */
  look(path: string, looks: number): unknown {
    const count = (this.#looks.get(path) ?? 0) + 1;
    this.#looks.set(path, count);
    return count < looks ? [false, null, undefined][count % 3] : { path };
  }

  #isRecorded(position: number, attempt: string): boolean {
    return Number(attempt.split(' ').at(-1)) <= this.#world.failedAttemptsAt(position);
  }
}
