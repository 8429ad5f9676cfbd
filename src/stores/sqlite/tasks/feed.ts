/**
 * What was committed, in order, by this process and by others on the same file. A watch on the write-ahead log shows
 * that another process writes. Its commit becomes visible only after that, when the log is synced, and one write may
 * be followed by several commits; so `data_version` is read every few milliseconds for a while after each write,
 * whatever it showed before. A slow interval is the safety net. Nothing runs while there is no listener.
 */
import { watch } from 'node:fs';
import { hasCode } from '../../../model/errors.ts';
import type { CommittedChange } from '../../../ports/store.ts';
import { runtime, type Timer } from '../../../runtime/runtime.ts';
import { tell } from '../../shared/work-listeners.ts';
import { type Connection, isBusy } from '../driver.ts';
import type { NumberedNotice, Rows, Written } from './rows.ts';

const netMs = 250;
const firstLookMs = 1;
/** After each write: often at first, then less often, because a slow disk takes long to sync. Together about `netMs`. */
const quickLooks = { count: 10, everyMs: 3 };
const slowLooks = { count: 22, everyMs: 10 };
const pageSize = 500;

/** Calls back when another process may have written, soon before or after its commit. Returns how to stop. */
export type Watch = (onWrite: () => void) => () => void;

/** Where there are no watches left on this machine, or no log yet, the net alone is slower, and loses nothing. */
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
  /** Undefined if this process is the only one that can write. */
  readonly #watch: Watch | undefined;
  readonly #listeners = new Set<(commit: CommittedChange) => void>();
  readonly #stirred = new Set<() => void>();
  #position = 0;
  #dataVersion: unknown;
  #stopWatch: (() => void) | undefined;
  #net: Timer | undefined;
  #look: Timer | undefined;
  #looksLeft = 0;

  constructor(db: Connection, rows: Rows, watch: Watch | undefined) {
    this.#sql = db.prepare('pragma data_version');
    this.#rows = rows;
    this.#watch = watch;
  }

  subscribe(listener: (commit: CommittedChange) => void): () => void {
    if (this.#listeners.size === 0) this.#position = this.#rows.newestCommit();
    return this.#add(this.#listeners, listener);
  }

  /** Calls back when a commit of this process has left work for someone, and after every commit of another. */
  onStir(listener: () => void): () => void {
    return this.#add(this.#stirred, listener);
  }

  /**
   * Delivers what was committed since the last delivery. While another process recovers the log after a crash
   * nothing can be read; the next look delivers it then.
   */
  deliver({ own, leftWork }: Written = { own: [], leftWork: true }): void {
    try {
      if (!this.#tellOwn(own)) this.#deliver();
      if (leftWork) for (const listener of [...this.#stirred]) tell(listener);
    } catch (error) {
      // Whoever asks for anything in a file that was encrypted meanwhile hears of it there.
      if (hasCode(error, 'STORE_NOT_UNLOCKED')) return;
      if (!isBusy(error)) throw error;
      this.#dataVersion = undefined;
    }
  }

  close(): void {
    this.#listeners.clear();
    this.#stirred.clear();
    this.#stopWatching();
  }

  /** What this process has just committed need not be read again, if it is the very next to be told. */
  #tellOwn(own: readonly NumberedNotice[]): boolean {
    if (this.#listeners.size === 0) return true;
    if (own.length === 0 || own.some(({ seq }, index) => seq !== this.#position + 1 + index)) return false;
    for (const notice of own) this.#tell(notice);
    return true;
  }

  #tell({ seq, ...notice }: NumberedNotice): void {
    this.#position = seq;
    for (const listener of [...this.#listeners]) tell(() => listener(notice));
  }

  #deliver(): void {
    while (this.#listeners.size > 0) {
      const commits = this.#rows.commitsAfter(this.#position, pageSize);
      for (const notice of commits) this.#tell(notice);
      if (commits.length < pageSize) break;
    }
  }

  #add<T>(listeners: Set<T>, listener: T): () => void {
    listeners.add(listener);
    this.#startWatching();
    return () => {
      listeners.delete(listener);
      if (this.#listeners.size + this.#stirred.size === 0) this.#stopWatching();
    };
  }

  #startWatching(): void {
    if (!this.#watch || this.#net) return;
    this.#dataVersion = this.#currentDataVersion();
    this.#net = runtime.setInterval(() => this.#lookForOthers(), netMs).unref();
    this.#stopWatch = this.#watch(() => this.#expectCommit());
  }

  #stopWatching(): void {
    runtime.clearInterval(this.#net);
    runtime.clearTimeout(this.#look);
    this.#stopWatch?.();
    this.#net = this.#look = this.#stopWatch = undefined;
  }

  #expectCommit(): void {
    const isSoon = this.#look !== undefined && this.#looksLeft > slowLooks.count;
    this.#looksLeft = quickLooks.count + slowLooks.count;
    if (!isSoon) this.#lookAfter(firstLookMs);
  }

  #lookAfter(ms: number): void {
    runtime.clearTimeout(this.#look);
    this.#look = runtime
      .setTimeout(() => {
        this.#look = undefined;
        this.#lookForOthers();
        if (--this.#looksLeft > 0)
          this.#lookAfter(this.#looksLeft > slowLooks.count ? quickLooks.everyMs : slowLooks.everyMs);
      }, ms)
      .unref();
  }

  #lookForOthers(): void {
    const version = this.#currentDataVersion();
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    this.deliver();
  }

  /** Moves when another connection has committed; its own commits do not move it, nor does what cannot be read yet. */
  #currentDataVersion(): unknown {
    try {
      return this.#sql.get()?.data_version;
    } catch (error) {
      if (!isBusy(error)) throw error;
      return this.#dataVersion;
    }
  }
}
