/**
 * Connections, with retries if one breaks: repeatable work is retried on another connection for as long as a restart of
 * the server takes. If the result of a commit did not arrive, the pool checks whether it was committed, so that no
 * transaction is lost or executed twice.
 */
import { storeClosed } from '../../../ports/store-errors.ts';
import { backoffMs } from '../../../runtime/backoff.ts';
import { pause, runtime } from '../../../runtime/runtime.ts';
import {
  type Client,
  type ClientPool,
  codeOf,
  isDisconnected,
  isRetryable,
  isTaken,
  type Statement,
  toStoreError,
} from './driver.ts';

/** How long work is retried while the server is unreachable. */
const giveUpMs = 30_000;
/** The pause before a retry. */
const backoff = { minMs: 5, maxMs: 500 };
/** See `isTaken`. */
const maxTriesIfTaken = 5;
/** Overrides the server's default isolation: each statement must see everything that was committed before it. */
const defaultOpening = 'begin isolation level read committed';

export type Row = Record<string, unknown>;

/** A statement to send, with its values. */
export interface Sent {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

export interface Transaction {
  query<R = Row>(statement: Statement | string, values?: readonly unknown[]): Promise<R[]>;
  /** The results of the `first` statements. */
  found: readonly Row[][];
  /**
   * Sends the last statement together with the commit. If the statement fails, nothing is committed. If the connection
   * breaks, it may have been committed.
   */
  commitWith<R = Row>(sent: Sent): Promise<R[]>;
  /** The revision of the encryption record, if the opening statements read it. */
  revision?: string;
  /**
   * Set before the first write. Called if the connection breaks: returns whether the transaction was committed. If not,
   * it never will be.
   */
  settle?: () => Promise<boolean>;
}

export class Connections {
  readonly #pool: ClientPool;
  readonly #place: string;
  /** Settings for each transaction behind a pooler in transaction mode, which also allows no named statements. */
  readonly #pooled: readonly string[] | undefined;
  readonly #broken = new Set<() => void>();
  #inFlight = 0;
  #idle = Promise.withResolvers<void>();
  #closed = false;

  constructor(pool: ClientPool, place: string, pooled?: readonly string[]) {
    this.#pool = pool;
    this.#place = place;
    this.#pooled = pooled;
    // Without listeners, a restart of the server would crash this process.
    pool.on('error', () => this.#notifyBroken());
    pool.on('connect', (client) => void client.on('error', () => this.#notifyBroken()));
  }

  /** Calls back whenever a connection breaks. */
  onBroken(listener: () => void): void {
    this.#broken.add(listener);
  }

  #notifyBroken(): void {
    for (const listener of this.#broken) listener();
  }

  /** Runs a single statement with retries. It must be safe to repeat. */
  query<R = Row>(statement: Statement | string, values: readonly unknown[] = []): Promise<R[]> {
    return this.#persist(async () => (await this.#pool.query(this.#queryOf(statement, values))).rows as R[]);
  }

  /** Sends a single statement once, as its own transaction. Throws the errors of `pg` unchanged. */
  async send<R = Row>(statement: Statement | string, values: readonly unknown[]): Promise<R[]> {
    try {
      const sent = await this.#counted(() => this.#pool.query(this.#queryOf(statement, values)));
      return sent.rows as R[];
    } catch (error) {
      if (isDisconnected(error)) this.#notifyBroken();
      throw error;
    }
  }

  /**
   * Runs `work` in a transaction, with retries. The transaction begins with `opening` and the `first` statements, in
   * one round trip.
   */
  transact<T>(
    work: (transaction: Transaction) => Promise<T>,
    opening = defaultOpening,
    first: () => readonly Sent[] = () => [],
  ): Promise<T> {
    return this.#persist(() => this.#attempt(work, opening, first));
  }

  /** Waits for work in flight, because a pool that has ended never answers pending requests for a connection. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#inFlight > 0) await this.#idle.promise;
    await this.#pool.end();
  }

  async #counted<T>(act: () => Promise<T>): Promise<T> {
    this.#inFlight++;
    try {
      return await act();
    } finally {
      if (--this.#inFlight === 0 && this.#closed) this.#idle.resolve();
    }
  }

  async #attempt<T>(
    work: (transaction: Transaction) => Promise<T>,
    opening: string,
    first: () => readonly Sent[],
  ): Promise<T> {
    const client = await this.#pool.connect();
    let committing: Promise<unknown> | undefined;
    const query = async <R>(statement: Statement | string, values: readonly unknown[] = []) =>
      (await client.query(this.#queryOf(statement, values))).rows as R[];
    const transaction: Transaction = {
      found: [],
      query,
      commitWith: <R>({ statement, values }: Sent) => {
        const written = query<R>(statement, values);
        committing = client.query('commit');
        // The failure is thrown where the commit is awaited.
        committing.catch(() => {});
        return written;
      },
    };
    let value: T;
    try {
      const sent = [
        client.query(this.#withSettings(opening)),
        ...first().map(({ statement, values }) => client.query(this.#queryOf(statement, values))),
      ];
      const [opened, ...found] = (await allOf<unknown>(sent)) as [unknown, ...{ rows: Row[] }[]];
      // An opening of several statements has an array of results. The last one may be the encryption record.
      const revision = Array.isArray(opened) ? opened.at(-1).rows[0]?.revision : undefined;
      if (revision !== undefined) transaction.revision = revision;
      transaction.found = found.map(({ rows }) => rows);
      value = await work(transaction);
    } catch (error) {
      await release(client, isDisconnected(error) ? undefined : 'rollback');
      throw error;
    }
    try {
      await (committing ?? client.query('commit'));
    } catch (error) {
      client.release(true);
      if (!isDisconnected(error) || !(await transaction.settle?.())) throw error;
      return value;
    }
    client.release();
    return value;
  }

  #withSettings(opening: string): string {
    const settings = this.#pooled?.map((setting) => `; set local ${setting}`) ?? [];
    return opening.replace(defaultOpening, [defaultOpening, ...settings].join(''));
  }

  #queryOf(statement: Statement | string, values: readonly unknown[]) {
    const { name, ...written }: Statement = typeof statement === 'string' ? { text: statement } : statement;
    return { ...written, ...(name && !this.#pooled && { name }), values: values as unknown[] };
  }

  #persist<T>(act: () => Promise<T>): Promise<T> {
    return this.#counted(() => this.#try(act));
  }

  async #try<T>(act: () => Promise<T>): Promise<T> {
    const started = runtime.monotonic();
    for (let tries = 1; ; tries++) {
      if (this.#closed) throw storeClosed(this.#place);
      try {
        return await act();
      } catch (error) {
        if (isDisconnected(error)) this.#notifyBroken();
        // A closed pool rejects with errors that have no code.
        if (this.#closed && codeOf(error) === undefined) throw storeClosed(this.#place);
        const again = isTaken(error) ? tries < maxTriesIfTaken : isRetryable(error);
        // At least two tries, because one unresponsive connection may have used up the time.
        const isOutOfTime = tries > 1 && runtime.monotonic() - started > giveUpMs;
        if (!again || isOutOfTime) throw toStoreError(error, this.#place);
      }
      // Jitter, so that not all processes retry at the same time.
      await pause(backoffMs(backoff, tries - 1) * (0.5 + runtime.random()));
    }
  }
}

/** Waits for all promises; rejects with the first error. */
async function allOf<T>(some: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(some);
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
  return settled.map((one) => (one as PromiseFulfilledResult<T>).value);
}

/** Returns a connection to the pool after a `last` statement. Without one, or if it fails, destroys the connection. */
async function release(
  client: Client & { release(destroy?: boolean): void },
  last: string | undefined,
): Promise<void> {
  try {
    if (last) await client.query(last);
    client.release(last === undefined);
  } catch {
    client.release(true);
  }
}
