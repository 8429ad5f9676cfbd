/**
 * Whether the store is usable, judged by the writes of this process. A write that fails or gets no answer makes the
 * store unusable. The next successful write makes it usable again. In between, a write of our own probes the store
 * every second, so that the recovery is noticed even if nothing else is written. Failed reads are only reported.
 */

import { newId } from '../../model/id.ts';
import { type Observer, quietly } from '../../ports/observer.ts';
import type { Database } from '../../ports/queue.ts';
import { StoreError, StoreTimedOut, TaskCorrupt } from '../../ports/store-errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { runtime, type Timer } from '../../runtime/runtime.ts';
import { decorated } from './decorator.ts';

/** The interval of probes, and of the checks whether pending writes get an answer. */
const probeMs = 1_000;
/** If no write finishes for this long although some are pending, the store counts as failed. */
const silentMs = 3_000;
/** As large as a typical task, because a full disk may still have room for a smaller row. */
const probeText = 'x'.repeat(16_384);

export class StoreHealth {
  readonly #clock: Clock;
  readonly #observer: Observer;
  #failure: { readonly error: StoreError; readonly since: number } | undefined;
  #pendingWrites = 0;
  /**
   * When a write last failed or proved that the store can write, or began while none was pending. On the monotonic
   * clock, and moved forward by the time during which this process was blocked.
   */
  #progressAt = 0;
  /** When `#checkSilence` last ran. On the monotonic clock. */
  #checkedAt = 0;
  #silenceTimer: Timer | undefined;
  /** Undefined before `watch` and after `close`. */
  #probe: (() => Promise<unknown>) | undefined;
  #cancelProbe: (() => void) | undefined;

  constructor(clock: Clock, observer: Observer) {
    this.#clock = clock;
    this.#observer = observer;
  }

  /** Why the store cannot be written; undefined while it can. */
  get failure(): StoreError | undefined {
    return this.#failure?.error;
  }

  /** The same database, with the result of every call observed. */
  watch(database: Database): Database {
    this.#probe = () => this.#write(probe(database));
    // Callers may not notice a lost connection, because statements are retried on another one. Operators should know.
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
        // A claim writes only if it finds a task, so an empty one does not prove that the store can write.
        claim: async (query, decide) => {
          const claiming = database.store.claim(query, decide);
          const claims = await this.#write(claiming, ({ claimed }) => claimed.length > 0);
          for (const { error } of claims.failed) this.#report(error);
          return claims;
        },
        list: async (query) => {
          const page = await store.list(query);
          for (const id of page.corrupt ?? []) this.#reportCorrupt(id, 'The task could not be listed.');
          return page;
        },
      },
      // `get` writes only if the secret does not exist yet, so its success proves nothing.
      secrets: { get: (name) => this.#write(database.secrets.get(name), () => false) },
      close: () => {
        this.#probe = undefined;
        this.#cancelProbe?.();
        runtime.clearInterval(this.#silenceTimer);
        return database.close();
      },
    };
  }

  // These methods return the store's own promise, so observing a call does not delay its caller.

  #read<T>(act: Promise<T>): Promise<T> {
    act.then(undefined, (error: unknown) => this.#report(error));
    return act;
  }

  /** `isProof`: whether this result proves that the store can write. Only then does it end a failure. */
  #write<T>(act: Promise<T>, isProof: (value: T) => boolean = () => true): Promise<T> {
    if (this.#pendingWrites++ === 0) this.#progressAt = runtime.monotonic();
    if (!this.#silenceTimer) {
      this.#checkedAt = runtime.monotonic();
      this.#silenceTimer = runtime.setInterval(() => this.#checkSilence(), probeMs).unref();
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

  #checkSilence(): void {
    // Time during which this process was blocked does not count, because it could not read any answer. A timer that is
    // late by less than one interval is normal.
    const now = runtime.monotonic();
    this.#progressAt += Math.max(0, now - this.#checkedAt - 2 * probeMs);
    this.#checkedAt = now;
    if (this.#pendingWrites === 0) {
      runtime.clearInterval(this.#silenceTimer);
      this.#silenceTimer = undefined;
    } else if (!this.#failure && runtime.monotonic() - this.#progressAt > silentMs) {
      const silent = new StoreTimedOut(silentMs, true);
      this.#report(silent);
      this.#failed(silent);
    }
  }

  /** True if the store itself failed. A refusal by a rule is not a failure, and neither is one corrupt task. */
  #report(error: unknown): boolean {
    if (!(error instanceof StoreError) || error.code === 'STORE_CLOSED') return false;
    if (error instanceof TaskCorrupt) {
      this.#reportCorrupt(error.taskId, error.message);
      return false;
    }
    quietly(() => this.#observer.storeFailed({ at: this.#clock.now(), error }));
    return true;
  }

  #reportCorrupt(task: string, message: string): void {
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

/** Writes a session and deletes it again. */
async function probe({ sessions }: Database): Promise<void> {
  const id = `probe ${newId()}`;
  await sessions.save({ id, owner: '', opening: { text: probeText }, seenAt: runtime.now() });
  await sessions.delete(id);
}
