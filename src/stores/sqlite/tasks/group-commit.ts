/**
 * One durable transaction for all commands that wait at the same time. Commands queue until the end of the event
 * loop's turn; then they run one after the other, each in its savepoint, without giving the loop back, so that no
 * read ever sees an open transaction. Callers hear of their command only after the commit.
 */
import { crashPoint } from '../../../ports/crash-point.ts';
import { storeClosed } from '../../../ports/store-errors.ts';
import { runtime } from '../../../runtime/runtime.ts';
import { type Connection, isBusy, worded } from '../driver.ts';

/** Bounds how long the event loop stands still. */
const largestBatch = 256;
const busyRetryMs = 1;
const busyGiveUpMs = 30_000;

interface Command {
  readonly run: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Settled =
  | { readonly command: Command; readonly value: unknown }
  | { readonly command: Command; readonly error: unknown };

/** What is done around the commands of each transaction. */
export interface TransactionActs {
  begun(): void;
  /** The last act before the commit; gives the transaction's number if anything was written. */
  seal(): number | undefined;
  /** After the commit, before its callers hear of it. */
  committed(transaction: number | undefined): void;
}

export class GroupCommit {
  readonly #db: Connection;
  readonly #file: string;
  readonly #sql: ReturnType<typeof prepare>;
  readonly #acts: TransactionActs;
  #waiting: Command[] = [];
  #scheduled = false;
  #lastBatch = 0;
  #closed = false;
  #idle: (() => void)[] = [];
  #busySince: number | undefined;

  constructor(db: Connection, file: string, acts: TransactionActs) {
    this.#db = db;
    this.#sql = prepare(db);
    this.#file = file;
    this.#acts = acts;
  }

  /** Runs a synchronous function inside the next transaction. What it throws undoes it alone. */
  submit<T>(run: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(storeClosed(this.#file));
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ run, resolve: resolve as (value: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** Lets what was submitted finish, and takes nothing more. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#waiting.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    runtime.setImmediate(() => {
      // Where several came together last time more are likely on their way: what arrives meanwhile shares the commit,
      // which costs a hundred times more than the turn that it waits.
      if (this.#lastBatch > 1) runtime.setImmediate(() => this.#flush());
      else this.#flush();
    });
  }

  #flush(): void {
    this.#scheduled = false;
    if (!this.#begin()) return;
    const batch = this.#waiting.splice(0, largestBatch);
    this.#lastBatch = batch.length;
    this.#commit(batch);
    if (this.#waiting.length > 0) this.#schedule();
    else for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** False while another process holds the write lock: the batch waits, the event loop does not. */
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
      const failure = worded(error, this.#file);
      for (const { reject } of this.#waiting.splice(0)) reject(failure);
      for (const resolve of this.#idle.splice(0)) resolve();
      return false;
    }
  }

  #commit(batch: readonly Command[]): void {
    const settled: Settled[] = [];
    let transaction: number | undefined;
    try {
      this.#acts.begun();
      crashPoint('commit: begun');
      for (const command of batch) settled.push(this.#runInSavepoint(command));
      transaction = this.#acts.seal();
      crashPoint('commit: written');
      this.#sql.commit.run();
      crashPoint('commit: durable');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('rollback');
      const failure = worded(error, this.#file);
      for (const { reject } of batch) reject(failure);
      return;
    }
    try {
      this.#acts.committed(transaction);
    } catch (error) {
      // The commit stands, and its callers must hear of it; what went wrong after it surfaces as uncaught.
      queueMicrotask(() => {
        throw worded(error, this.#file);
      });
    }
    for (const one of settled) {
      if ('error' in one) one.command.reject(worded(one.error, this.#file));
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
      // A full disk undoes the whole transaction, not just this command: then nothing of the batch stands.
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
