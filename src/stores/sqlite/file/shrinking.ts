/**
 * Gives disk space back to the system while the store is open. Freed pages are cut off the end of the file, a few in
 * each transaction, once they are a large part of it; a few free pages stay, because the next tasks need them. The file
 * itself gets smaller when its log is checkpointed, and so does the log; that runs in a thread of its own. A file that
 * was created without `auto_vacuum` keeps its free pages until `VACUUM` rewrites it.
 */
import { statSync } from 'node:fs';
import { hasCode } from '../../../model/errors.ts';
import { runtime, type Timer } from '../../../runtime/runtime.ts';
import { type Connection, canVacuumInSteps, largestLogBytes, wording } from '../driver.ts';
import { runInThread } from '../query/sql-thread.ts';
import type { GroupCommit } from '../tasks/group-commit.ts';
import { touchCounter } from './transaction-counter.ts';

/** How long after a commit the sizes are checked. Commits until then cost nothing more. */
const checkAfterMs = 1_000;
/** Bounds how long the event loop is blocked by one transaction, and what that adds to the log. */
const batchPages = 32;
/** Cutting off pages rests this many times longer than the last transaction took. */
const restFactor = 4;
const minRestMs = 1;
/** How long writers may wait for readers when the log is emptied. */
const busyTimeoutMs = 5;
const smallestGainBytes = 2 ** 20;
/** Less than this share of free pages is left as it is. */
const freeShare = 1 / 4;

interface Pages {
  readonly pages: number;
  readonly free: number;
  readonly pageBytes: number;
}

interface Parts {
  readonly db: Connection;
  readonly commands: GroupCommit;
  /** None in memory. */
  readonly file: string | undefined;
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

  /** Checks the sizes in a moment, if no check is due yet. */
  expect(): void {
    if (!this.#timer) this.#checkAfter(checkAfterMs);
  }

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
      // Space is short or another process is busy: the next check tries again.
      if (this.#isStopped || hasCode(error, 'STORE_BUSY', 'STORE_FULL')) return;
      this.#isStopped = true;
      const { message } = error as Error;
      process.emitWarning(`Unused space of ${this.#parts.place} could not be given back: ${message}`);
    }
  }

  /** Gives a part of the space back; true if there is more. */
  async #hasMore(): Promise<boolean> {
    const { db, commands, file } = this.#parts;
    if (canVacuumInSteps(db) && hasMuchFree(this.#measure())) {
      await commands.submit(() => this.#cutPages());
      return true;
    }
    if (file !== undefined && this.#isWorthACheckpoint(file) && !(await this.#emptyLog(file))) this.expect();
    return false;
  }

  /** Inside a transaction, which must be sealed although no row has changed: the log may lose it like any other. */
  #cutPages(): void {
    if (!hasMuchFree(this.#measure())) return;
    this.#parts.db.exec(`pragma incremental_vacuum(${batchPages})`);
    touchCounter(this.#parts.db);
  }

  #measure(): Pages {
    return this.#sizes.get() as unknown as Pages;
  }

  #isWorthACheckpoint(file: string): boolean {
    const { pages, pageBytes } = this.#measure();
    const bytesOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    return bytesOf(`${file}-wal`) > largestLogBytes || bytesOf(file) - pages * pageBytes > smallestGainBytes;
  }

  /**
   * False while somebody reads what the log holds. The first checkpoint moves the pages and keeps no writer waiting;
   * the second one does, for a moment.
   */
  async #emptyLog(file: string): Promise<boolean> {
    const checkpoint = (mode: string) => `pragma wal_checkpoint(${mode})`;
    const statements = ['pragma synchronous = full', checkpoint('passive'), checkpoint('truncate')];
    return wording(this.#parts.place, async () => {
      const { busy } = (await runInThread(file, busyTimeoutMs, statements)) as { busy: number };
      return busy === 0;
    });
  }
}

/** Free pages that are worth the work. */
function hasMuchFree({ pages, free, pageBytes }: Pages): boolean {
  return free * pageBytes > smallestGainBytes && free > pages * freeShare;
}
