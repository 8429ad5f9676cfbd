/**
 * Whether the store can be used, going by what becomes of everything that this process asks of it. A failed write makes
 * it unusable, and so does one that goes unanswered; the next write that succeeds makes it usable again. While it is
 * not, a small write is tried every second, so that this is noticed where nobody else writes.
 */

import { newId } from '../../model/id.ts';
import { type Observer, quietly } from '../../ports/observer.ts';
import type { Database } from '../../ports/queue.ts';
import { StoreError, StoreTimedOut, TaskCorrupt } from '../../ports/store-errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { runtime, type Timer } from '../../runtime/runtime.ts';
import { decorated } from './decorator.ts';

const probeMs = 1_000;
/** A store that has not finished any write for so long, though some are waiting, does not answer. */
const silentMs = 3_000;
/** As much as a usual task takes: a full disk may still have room for less. */
const probeText = 'x'.repeat(16_384);

export class StoreHealth {
  readonly #clock: Clock;
  readonly #observer: Observer;
  #failure: { readonly error: StoreError; readonly since: number } | undefined;
  #pendingWrites = 0;
  #progressAt = 0;
  #lookedAt = 0;
  #silence: Timer | undefined;
  #probe: (() => Promise<unknown>) | undefined;
  #cancelProbe: (() => void) | undefined;

  constructor(clock: Clock, observer: Observer) {
    this.#clock = clock;
    this.#observer = observer;
  }

  /** Why it cannot be written at present; undefined as long as it can. */
  get failure(): StoreError | undefined {
    return this.#failure?.error;
  }

  /** The same database, with an eye on what becomes of whatever it is asked. */
  watch(database: Database): Database {
    this.#probe = () => this.#write(probe(database));
    // Told, though nobody may notice: what was under way is repeated on another connection.
    database.onDisconnected?.((error) => this.#report(error));
    const watched = decorated(database, {
      read: (act) => this.#read(act()),
      write: (act) => this.#write(act()),
    });
    const { store } = watched;
    return {
      ...watched,
      store: {
        ...store,
        // It writes only where it finds a task.
        claim: async (query, decide) => {
          const claiming = database.store.claim(query, decide);
          const claims = await this.#write(claiming, ({ claimed }) => claimed.length > 0);
          for (const { error } of claims.failed) this.#report(error);
          return claims;
        },
        list: async (query) => {
          const page = await store.list(query);
          for (const id of page.corrupt ?? []) this.#damaged(id, 'it could not be listed');
          return page;
        },
      },
      // It writes only where there is no such secret yet.
      secrets: { get: (name) => this.#write(database.secrets.get(name), () => false) },
      close: () => {
        this.#probe = undefined;
        this.#cancelProbe?.();
        runtime.clearInterval(this.#silence);
        return database.close();
      },
    };
  }

  // What is returned is what the store gave: whoever waits for it waits no longer because it is watched.

  #read<T>(act: Promise<T>): Promise<T> {
    act.then(undefined, (error: unknown) => this.#report(error));
    return act;
  }

  /** `isProof`: whether its success proves that the store can write. */
  #write<T>(act: Promise<T>, isProof: (value: T) => boolean = () => true): Promise<T> {
    if (this.#pendingWrites++ === 0) this.#progressAt = runtime.monotonic();
    if (!this.#silence) {
      this.#lookedAt = runtime.monotonic();
      this.#silence = runtime.setInterval(() => this.#listen(), probeMs).unref();
    }
    act.then(
      (value) => {
        this.#pendingWrites--;
        if (!isProof(value)) return;
        this.#progressAt = runtime.monotonic();
        if (this.#failure) this.#recovered();
      },
      (error: unknown) => {
        this.#pendingWrites--;
        this.#progressAt = runtime.monotonic();
        if (this.#report(error)) this.#failed(error as StoreError);
      },
    );
    return act;
  }

  #listen(): void {
    // While this process itself was blocked, no answer could be read.
    const now = runtime.monotonic();
    this.#progressAt += Math.max(0, now - this.#lookedAt - 2 * probeMs);
    this.#lookedAt = now;
    if (this.#pendingWrites === 0) {
      runtime.clearInterval(this.#silence);
      this.#silence = undefined;
    } else if (!this.#failure && runtime.monotonic() - this.#progressAt > silentMs) {
      const silent = new StoreTimedOut(silentMs, true);
      this.#report(silent);
      this.#failed(silent);
    }
  }

  /** True if the store itself failed. Refusals of rules are no failures, nor is the damage of a single task. */
  #report(error: unknown): boolean {
    if (!(error instanceof StoreError) || error.code === 'STORE_CLOSED') return false;
    if (error instanceof TaskCorrupt) {
      this.#damaged(error.taskId, error.message);
      return false;
    }
    quietly(() => this.#observer.storeFailed({ at: this.#clock.now(), error }));
    return true;
  }

  #damaged(task: string, message: string): void {
    quietly(() => this.#observer.corrupt({ at: this.#clock.now(), task, message }));
  }

  #failed(error: StoreError): void {
    this.#failure = { error, since: this.#failure?.since ?? this.#clock.now() };
    this.#probeLater();
  }

  #recovered(): void {
    const at = this.#clock.now();
    const { since } = this.#failure!;
    this.#failure = undefined;
    quietly(() => this.#observer.storeRecovered({ at, failedMs: at - since }));
  }

  #probeLater(): void {
    this.#cancelProbe ??= this.#clock.schedule(this.#clock.now() + probeMs, () => {
      void this.#probe?.()
        .catch(() => {})
        .then(() => {
          this.#cancelProbe = undefined;
          if (this.#failure) this.#probeLater();
        });
    });
  }
}

/** Writes and removes what nobody asks for. */
async function probe({ sessions }: Database): Promise<void> {
  const id = `probe ${newId()}`;
  await sessions.save({ id, owner: '', opening: { text: probeText }, seenAt: runtime.now() });
  await sessions.delete(id);
}
