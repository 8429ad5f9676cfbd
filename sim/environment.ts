/** The environment of handlers, which the witness observes: time, events, and conditions to poll. */
import type { TaskId } from '../src/model/task.ts';
import type { Oracles } from './oracles.ts';
import type { World } from './world.ts';

/** An event that a task waits for, and the program of the task. */
export interface AwaitedEvent {
  readonly id: TaskId;
  readonly program: string;
  readonly event: string;
}

export class Environment {
  readonly #world: World;
  readonly #witness: Oracles;
  readonly #events = new Map<string, AwaitedEvent>();
  readonly #polls = new Map<string, number>();
  /** When each sleep started. */
  readonly #sleeps = new Map<string, number>();

  constructor(world: World, witness: Oracles) {
    this.#world = world;
    this.#witness = witness;
  }

  /** Records the start of a sleep, or its replay. Call the returned function at its end. */
  sleeps(id: TaskId, name: string, ms: number): () => void {
    const key = `${id} ${name}`;
    const startedAt = this.#sleeps.get(key) ?? this.#world.time;
    if (!this.#world.current.isDead) this.#sleeps.set(key, startedAt);
    return () => {
      if (this.#witness.areClocksRight && this.#world.time - startedAt < ms && !this.#world.current.isDead)
        this.#witness.complain(
          `${this.#witness.nameOf(id)}: slept ${this.#world.time - startedAt} ms instead of ${ms}`,
        );
    };
  }

  /** Whether a task should end its process again. */
  mayDie(id: TaskId, name: string, deaths: number): boolean {
    if (this.#world.current.isDead) return false;
    const died = this.poll(id, name);
    if (died <= deaths) this.#witness.note(`${this.#witness.nameOf(id)} ends its process`);
    return died <= deaths;
  }

  /** Counts and returns the polls of a condition. */
  poll(id: TaskId, name: string): number {
    const polls = (this.#polls.get(`${id} ${name}`) ?? 0) + 1;
    this.#polls.set(`${id} ${name}`, polls);
    return polls;
  }

  awaitsEvent(id: TaskId, program: string, event: string): void {
    this.#events.set(`${id} ${event}`, { id, program, event });
  }

  /** Events that tasks wait for and that were not sent yet. */
  get awaitedEvents(): readonly AwaitedEvent[] {
    return [...this.#events.values()];
  }

  eventCame({ id, event }: AwaitedEvent): void {
    this.#events.delete(`${id} ${event}`);
  }
}
