/**
 * Returns disk space to the system while the store is open. Once free pages are a large part of the file, they are cut
 * off its end, a few in each transaction. Some free pages remain for the next tasks. The file on disk shrinks only at
 * the next checkpoint of the write-ahead log, which runs in a separate thread and also truncates the log. A file that
 * was created without `auto_vacuum` keeps its free pages until `VACUUM` rewrites it.
 */
import { statSync } from 'node:fs';
import { hasCode } from '../../../model/errors.ts';
import { runtime, type Timer } from '../../../runtime/runtime.ts';
import { type Connection, hasIncrementalVacuum, maxLogBytes, withStoreErrors } from '../driver.ts';
import { runInThread } from '../query/sql-thread.ts';
import type { GroupCommit } from '../tasks/group-commit.ts';
import { touchCounter } from './transaction-counter.ts';

/** How long after a commit the sizes are checked. Further commits until then do not schedule another check. */
const checkAfterMs = 1_000;
/** The number of pages that one transaction cuts off. Limits how long it blocks the event loop and how much it logs. */
const batchPages = 32;
/** The pause before the next transaction is this many times as long as the last one took. */
const restFactor = 4;
const minRestMs = 1;
/** How long writers may wait for readers while the log is truncated. */
const busyTimeoutMs = 5;
/** Less free space than this is not worth the work. */
const minGainBytes = 2 ** 20;
/** Pages are cut off only while a larger share of the file is free. The rest is left for the next tasks. */
const freeShare = 1 / 4;

/** The sizes as this connection sees them, including the write-ahead log. */
interface Pages {
  readonly pages: number;
  readonly free: number;
  readonly pageBytes: number;
}

interface Parts {
  readonly db: Connection;
  readonly commands: GroupCommit;
  /** Undefined in memory. */
  readonly file: string | undefined;
  /** The path or `memory:`, for messages. */
  readonly place: string;
}

export class Shrinking {
  readonly #parts: Parts;
  readonly #sizes: ReturnType<Connection['prepare']>;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#sizes = parts.db.prepare(`
      select page_count as pages, freelist_count as free, page_size as pageBytes
      from pragma_page_count, pragma_freelist_count, pragma_page_size`);
  }

  /** Schedules a check of the sizes, unless one is scheduled. */
  scheduleCheck(): void {
    if (!this.#timer) this.#checkAfter(checkAfterMs);
  }

  /** Stops for good and waits for a check that is running. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    runtime.clearTimeout(this.#timer);
    await this.#running;
  }

  #checkAfter(ms: number): void {
    if (this.#isStopped) return;
    runtime.clearTimeout(this.#timer);
    const check = () => {
      this.#timer = undefined;
      this.#running ??= this.#check().finally(() => {
        this.#running = undefined;
      });
    };
    this.#timer = runtime.setTimeout(check, ms).unref();
  }

  async #check(): Promise<void> {
    const started = runtime.monotonic();
    try {
      if (await this.#hasMore())
        this.#checkAfter(Math.max(minRestMs, (runtime.monotonic() - started) * restFactor));
    } catch (error) {
      // The disk is full or another process is busy: the check after the next commit tries again.
      if (this.#isStopped || hasCode(error, 'STORE_BUSY', 'STORE_FULL')) return;
      this.#isStopped = true;
      const { message } = error as Error;
      process.emitWarning(`Could not release unused disk space of ${this.#parts.place}: ${message}`);
    }
  }

  /**
   * Cuts off some pages and returns true: check again. Without many free pages, shrinks the files and returns false.
   */
  async #hasMore(): Promise<boolean> {
    const { db, commands, file } = this.#parts;
    if (hasIncrementalVacuum(db) && hasMuchFree(this.#measure())) {
      await commands.submit(() => this.#cutPages());
      return true;
    }
    if (file !== undefined && this.#isWorthACheckpoint(file) && !(await this.#truncateLog(file)))
      this.scheduleCheck();
    return false;
  }

  /**
   * Runs inside a transaction. It changes no row, so it must be counted explicitly: a damaged log can lose it like any
   * other transaction, and the counter must show that.
   */
  #cutPages(): void {
    // Measured once more, because other commands may have run since the transaction was requested.
    if (!hasMuchFree(this.#measure())) return;
    this.#parts.db.exec(`pragma incremental_vacuum(${batchPages})`);
    touchCounter(this.#parts.db);
  }

  #measure(): Pages {
    return this.#sizes.get() as unknown as Pages;
  }

  /** True if the log is too large, or if pages were cut off that the file on disk still contains. */
  #isWorthACheckpoint(file: string): boolean {
    const { pages, pageBytes } = this.#measure();
    const bytesOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    return bytesOf(`${file}-wal`) > maxLogBytes || bytesOf(file) - pages * pageBytes > minGainBytes;
  }

  /**
   * Moves the log into the file and truncates it. Returns false if another connection was still reading from the log.
   * The first checkpoint moves the pages without blocking writers; the second one blocks them briefly and truncates.
   */
  async #truncateLog(file: string): Promise<boolean> {
    const checkpoint = (mode: string) => `pragma wal_checkpoint(${mode})`;
    const statements = ['pragma synchronous = full', checkpoint('passive'), checkpoint('truncate')];
    return withStoreErrors(this.#parts.place, async () => {
      const { busy } = (await runInThread(file, busyTimeoutMs, statements)) as { busy: number };
      return busy === 0;
    });
  }
}

/** True if enough pages are free to be worth the work. */
function hasMuchFree({ pages, free, pageBytes }: Pages): boolean {
  return free * pageBytes > minGainBytes && free > pages * freeShare;
}
