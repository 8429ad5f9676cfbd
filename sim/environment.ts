/** What handlers meet outside of their tasks, where the witness can see it: time, events, and things to look at. */
import type { TaskId } from '../src/model/task.ts';
import type { Oracles } from './oracles.ts';
import type { World } from './world.ts';

/** An event that a task waits for, in the program that it plays. */
export interface AwaitedEvent {
  readonly id: TaskId;
  readonly program: string;
  readonly event: string;
}

export class Surroundings {
  readonly #world: World;
  readonly #witness: Oracles;
  readonly #events = new Map<string, AwaitedEvent>();
  readonly #looks = new Map<string, number>();
  /** When each sleep began. */
  readonly #sleeps = new Map<string, number>();

  constructor(world: World, witness: Oracles) {
    this.#world = world;
    this.#witness = witness;
  }

  /** A sleep begins, or begins again. The returned function tells that it is over. */
  sleeps(id: TaskId, name: string, ms: number): () => void {
    const key = `${id} ${name}`;
    const begun = this.#sleeps.get(key) ?? this.#world.time;
    if (!this.#world.current.isDead) this.#sleeps.set(key, begun);
    return () => {
      if (this.#witness.areClocksRight && this.#world.time - begun < ms && !this.#world.current.isDead)
        this.#witness.complain(
          `${this.#witness.nameOf(id)}: slept ${this.#world.time - begun} ms instead of ${ms}`,
        );
    };
  }

  /** Whether a task is to end its process once more. */
  mayDie(id: TaskId, name: string, deaths: number): boolean {
    if (this.#world.current.isDead) return false;
    const died = this.look(id, name);
    if (died <= deaths) this.#witness.note(`${this.#witness.nameOf(id)} ends its process`);
    return died <= deaths;
  }

  /** How often something outside was looked at. */
  look(id: TaskId, name: string): number {
    const looks = (this.#looks.get(`${id} ${name}`) ?? 0) + 1;
    this.#looks.set(`${id} ${name}`, looks);
    return looks;
  }

  awaitsEvent(id: TaskId, program: string, event: string): void {
    this.#events.set(`${id} ${event}`, { id, program, event });
  }

  /** Events that tasks wait for, and that nobody has said have come. */
  get awaitedEvents(): readonly AwaitedEvent[] {
    return [...this.#events.values()];
  }

  eventCame({ id, event }: AwaitedEvent): void {
    this.#events.delete(`${id} ${event}`);
  }
}
