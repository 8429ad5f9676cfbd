/**
 * Group commit: one durable transaction for all commands that wait at the same time. Commands queue until the end of
 * the current event loop turn. Then they run one after the other, each in a savepoint. The whole transaction runs
 * synchronously, so no other code of this process ever reads uncommitted data. A command resolves only after the
 * commit.
 */
import { crashPoint } from '../../../ports/crash-point.ts';
import { storeClosed } from '../../../ports/store-errors.ts';
import { runtime } from '../../../runtime/runtime.ts';
import { type Connection, isBusy, toStoreError } from '../driver.ts';

/** The maximum number of commands in one transaction. Limits how long it blocks the event loop. */
const maxBatch = 256;
/** The pause between attempts while another process holds the write lock. */
const busyRetryMs = 1;
/** If the lock was not free for this long, all waiting commands are rejected. */
const busyGiveUpMs = 30_000;

interface Command {
  readonly run: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Settled =
  | { readonly command: Command; readonly value: unknown }
  | { readonly command: Command; readonly error: unknown };

/** Called in each transaction, before and after its commands. */
export interface TransactionHooks {
  /** Called inside the transaction, before its first command. */
  onBegin(): void;
  /** Called last before the commit. Returns the number of the transaction, or undefined if it changed no rows. */
  countTransaction(): number | undefined;
  /** Called after the commit, before its commands resolve, with the result of `countTransaction`. */
  onCommitted(transaction: number | undefined): void;
}

export class GroupCommit {
  readonly #db: Connection;
  readonly #file: string;
  readonly #sql: ReturnType<typeof prepare>;
  readonly #hooks: TransactionHooks;
  #waiting: Command[] = [];
  /** True if a flush is scheduled. */
  #scheduled = false;
  /** The number of commands in the last transaction. */
  #lastBatch = 0;
  #closed = false;
  /** Called when no command waits any more. */
  #idle: (() => void)[] = [];
  /** When the current attempts to get the write lock began, by the monotonic clock. */
  #busySince: number | undefined;

  constructor(db: Connection, file: string, hooks: TransactionHooks) {
    this.#db = db;
    this.#sql = prepare(db);
    this.#file = file;
    this.#hooks = hooks;
  }

  /**
   * Runs a synchronous function inside the next transaction, and rejects with its error. An error undoes only its own
   * changes.
   */
  submit<T>(run: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(storeClosed(this.#file));
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ run, resolve: resolve as (value: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** Rejects new commands and waits for submitted ones. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#waiting.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    runtime.setImmediate(() => {
      // If the last batch had several commands, more are likely to arrive. Waiting one more turn lets them share the
      // commit, which costs a hundred times as much as a turn.
      if (this.#lastBatch > 1) runtime.setImmediate(() => this.#flush());
      else this.#flush();
    });
  }

  #flush(): void {
    this.#scheduled = false;
    if (!this.#begin()) return;
    const batch = this.#waiting.splice(0, maxBatch);
    this.#lastBatch = batch.length;
    this.#commit(batch);
    if (this.#waiting.length > 0) this.#schedule();
    else for (const resolve of this.#idle.splice(0)) resolve();
  }

  /**
   * Begins a transaction; returns false if that failed. If another process holds the write lock, schedules another
   * attempt, so the commands wait without blocking the event loop. Any other error rejects all waiting commands.
   */
  #begin(): boolean {
    try {
      this.#sql.begin.run();
      this.#busySince = undefined;
      return true;
    } catch (error) {
      this.#busySince ??= runtime.monotonic();
      if (isBusy(error) && runtime.monotonic() - this.#busySince < busyGiveUpMs) {
        this.#scheduled = true;
        runtime.setTimeout(() => this.#flush(), busyRetryMs);
        return false;
      }
      this.#busySince = undefined;
      const failure = toStoreError(error, this.#file);
      for (const { reject } of this.#waiting.splice(0)) reject(failure);
      for (const resolve of this.#idle.splice(0)) resolve();
      return false;
    }
  }

  #commit(batch: readonly Command[]): void {
    const settled: Settled[] = [];
    let transaction: number | undefined;
    try {
      this.#hooks.onBegin();
      crashPoint('commit: begun');
      for (const command of batch) settled.push(this.#runInSavepoint(command));
      transaction = this.#hooks.countTransaction();
      crashPoint('commit: written');
      this.#sql.commit.run();
      crashPoint('commit: durable');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('rollback');
      const failure = toStoreError(error, this.#file);
      for (const { reject } of batch) reject(failure);
      return;
    }
    try {
      this.#hooks.onCommitted(transaction);
    } catch (error) {
      // The transaction is committed, so its commands must resolve. The error becomes an uncaught exception.
      queueMicrotask(() => {
        throw toStoreError(error, this.#file);
      });
    }
    for (const one of settled) {
      if ('error' in one) one.command.reject(toStoreError(one.error, this.#file));
      else one.command.resolve(one.value);
    }
  }

  #runInSavepoint(command: Command): Settled {
    this.#sql.savepoint.run();
    try {
      const value = command.run();
      this.#sql.release.run();
      return { command, value };
    } catch (error) {
      // Some errors, such as a full disk, make SQLite roll back the whole transaction: then the whole batch fails.
      if (!this.#db.isTransaction) throw error;
      this.#db.exec('rollback to command; release command');
      return { command, error };
    }
  }
}

function prepare(db: Connection) {
  return {
    begin: db.prepare('begin immediate'),
    savepoint: db.prepare('savepoint command'),
    release: db.prepare('release command'),
    commit: db.prepare('commit'),
  };
}
