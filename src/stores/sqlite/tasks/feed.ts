/**
 * The change feed: commits of this process and of others on the same file, in order. A file watch on the write-ahead
 * log detects writes of other processes. A commit becomes visible only later, when the log is synced, and one write may
 * precede several commits. So after each write the feed polls `data_version` every few milliseconds for a while. A slow
 * interval catches missed writes. Without listeners nothing runs.
 */
import { watch } from 'node:fs';
import { hasCode } from '../../../model/errors.ts';
import type { CommittedChange } from '../../../ports/store.ts';
import { runtime, type Timer } from '../../../runtime/runtime.ts';
import { callListener } from '../../shared/work-listeners.ts';
import { type Connection, isBusy } from '../driver.ts';
import type { NumberedChange, Rows, Written } from './rows.ts';

const fallbackMs = 250;
const firstPollMs = 1;
/**
 * Polls after each write: frequent at first, then slower, because a slow disk syncs late. Together about `fallbackMs`.
 */
const quickPolls = { count: 10, everyMs: 3 };
const slowPolls = { count: 22, everyMs: 10 };
const pageSize = 500;

/**
 * Calls back when another process may have written, shortly before or after its commit. Returns a function that stops
 * it.
 */
export type Watch = (onWrite: () => void) => () => void;

/** Without a watch (none left on this machine, or no log yet) the fallback interval is slower but misses nothing. */
export function watchLog(file: string): Watch {
  return (onWrite) => {
    try {
      const watcher = watch(file, { persistent: false }, onWrite);
      watcher.on('error', () => watcher.close());
      return () => watcher.close();
    } catch {
      return () => {};
    }
  };
}

export class Feed {
  readonly #sql: ReturnType<Connection['prepare']>;
  readonly #rows: Rows;
  /** Undefined if no other process can write. */
  readonly #watch: Watch | undefined;
  readonly #listeners = new Set<(commit: CommittedChange) => void>();
  readonly #workListeners = new Set<() => void>();
  #position = 0;
  #dataVersion: unknown;
  #stopWatch: (() => void) | undefined;
  #fallback: Timer | undefined;
  #poll: Timer | undefined;
  #pollsLeft = 0;

  constructor(db: Connection, rows: Rows, watch: Watch | undefined) {
    this.#sql = db.prepare('pragma data_version');
    this.#rows = rows;
    this.#watch = watch;
  }

  subscribe(listener: (commit: CommittedChange) => void): () => void {
    if (this.#listeners.size === 0) this.#position = this.#rows.newestCommit();
    return this.#add(this.#listeners, listener);
  }

  /**
   * Calls back after a commit of this process that left work for a worker, and after each commit of other processes.
   */
  onWork(listener: () => void): () => void {
    return this.#add(this.#workListeners, listener);
  }

  /**
   * Delivers the commits since the last delivery. While another process recovers the log after a crash, nothing can be
   * read; then the next poll delivers them.
   */
  deliver({ own, leftWork }: Written = { own: [], leftWork: true }): void {
    try {
      if (!this.#deliverOwn(own)) this.#deliver();
      if (leftWork) for (const listener of [...this.#workListeners]) callListener(listener);
    } catch (error) {
      // The file was encrypted in the meantime. The next command or read fails with this error.
      if (hasCode(error, 'STORE_NOT_UNLOCKED')) return;
      if (!isBusy(error)) throw error;
      this.#dataVersion = undefined;
    }
  }

  close(): void {
    this.#listeners.clear();
    this.#workListeners.clear();
    this.#stopWatching();
  }

  /** Delivers own commits from memory if no commit of another process comes before them. */
  #deliverOwn(own: readonly NumberedChange[]): boolean {
    if (this.#listeners.size === 0) return true;
    if (own.length === 0 || own.some(({ seq }, index) => seq !== this.#position + 1 + index)) return false;
    for (const change of own) this.#notify(change);
    return true;
  }

  #notify({ seq, ...change }: NumberedChange): void {
    this.#position = seq;
    for (const listener of [...this.#listeners]) callListener(() => listener(change));
  }

  #deliver(): void {
    while (this.#listeners.size > 0) {
      const commits = this.#rows.commitsAfter(this.#position, pageSize);
      for (const change of commits) this.#notify(change);
      if (commits.length < pageSize) break;
    }
  }

  #add<T>(listeners: Set<T>, listener: T): () => void {
    listeners.add(listener);
    this.#startWatching();
    return () => {
      listeners.delete(listener);
      if (this.#listeners.size + this.#workListeners.size === 0) this.#stopWatching();
    };
  }

  #startWatching(): void {
    if (!this.#watch || this.#fallback) return;
    this.#dataVersion = this.#currentDataVersion();
    this.#fallback = runtime.setInterval(() => this.#pollOthers(), fallbackMs).unref();
    this.#stopWatch = this.#watch(() => this.#expectCommit());
  }

  #stopWatching(): void {
    runtime.clearInterval(this.#fallback);
    runtime.clearTimeout(this.#poll);
    this.#stopWatch?.();
    this.#fallback = this.#poll = this.#stopWatch = undefined;
  }

  #expectCommit(): void {
    const isSoon = this.#poll !== undefined && this.#pollsLeft > slowPolls.count;
    this.#pollsLeft = quickPolls.count + slowPolls.count;
    if (!isSoon) this.#pollAfter(firstPollMs);
  }

  #pollAfter(ms: number): void {
    runtime.clearTimeout(this.#poll);
    this.#poll = runtime
      .setTimeout(() => {
        this.#poll = undefined;
        this.#pollOthers();
        if (--this.#pollsLeft > 0)
          this.#pollAfter(this.#pollsLeft > slowPolls.count ? quickPolls.everyMs : slowPolls.everyMs);
      }, ms)
      .unref();
  }

  #pollOthers(): void {
    const version = this.#currentDataVersion();
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    this.deliver();
  }

  /** Changes when another connection commits something readable. Own commits do not change it. */
  #currentDataVersion(): unknown {
    try {
      return this.#sql.get()?.data_version;
    } catch (error) {
      if (!isBusy(error)) throw error;
      return this.#dataVersion;
    }
  }
}
