/** Ends what is past its deadline and removes what is past its retention, a few at a time. */
import type { Clock } from '../model/clock.ts';
import { Refusal } from '../model/errors.ts';
import type { TaskId } from '../model/task.ts';
import type { Store } from './store.ts';
import { StoreError } from './store-errors.ts';
import { passDeadline, purge } from './transitions.ts';

const everyMs = 1_000;
/** Small, so that traffic never waits for long behind it. */
const atOnce = 20;

export class Housekeeping {
  readonly #store: Store;
  readonly #clock: Clock;
  #cancel: () => void = () => {};
  #round: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#arm();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#round;
  }

  #arm(): void {
    if (this.#stopped) return;
    this.#cancel = this.#clock.schedule(this.#clock.now() + everyMs, () => {
      this.#arm();
      this.#again = true;
      this.#round ??= this.#rounds().finally(() => {
        this.#round = undefined;
      });
    });
  }

  async #rounds(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      await this.#tidy();
    }
  }

  async #tidy(): Promise<void> {
    try {
      await this.#all('deadline', (id, now) =>
        this.#store.update('family', id, (family) => passDeadline(family, now)),
      );
      await this.#all('purge', (id, now) => this.#store.update('family', id, (family) => purge(family, now)));
    } catch (error) {
      // A store that cannot be written now is tried again in the next round.
      if (!(error instanceof StoreError)) throw error;
    }
  }

  async #all(what: 'deadline' | 'purge', act: (id: TaskId, now: number) => Promise<unknown>): Promise<void> {
    for (;;) {
      const now = this.#clock.now();
      const due = await this.#store.due(what, now, atOnce);
      // Another process may be faster; what it has done needs no doing.
      await Promise.all(due.map((id) => act(id, now).catch(unlessRefused)));
      if (due.length < atOnce || this.#stopped) return;
    }
  }
}

function unlessRefused(error: unknown): void {
  if (!(error instanceof Refusal)) throw error;
}
