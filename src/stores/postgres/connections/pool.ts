/**
 * Connections, and what is done when one of them breaks: whatever can be repeated is, on another connection, for as
 * long as a restart of the server takes. A transaction of which the end was not heard is looked up, so that it is
 * neither lost nor done twice.
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

/** For how long a server that went away is waited for. */
const patienceMs = 30_000;
const backoff = { minMs: 5, maxMs: 500 };
const triesForWhatIsTaken = 5;
/** Whatever the server's default: what commands rely on is that each statement sees what was committed before it. */
const justBegin = 'begin isolation level read committed';

export type Row = Record<string, unknown>;

/** A statement with its values. */
export interface Sent {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

export interface Transaction {
  query<R = Row>(statement: Statement | string, values?: readonly unknown[]): Promise<R[]>;
  /** What the statements gave with which it began. */
  found: readonly Row[][];
  /**
   * Sends the last statement and the commit together. If the statement fails, nothing is committed; if the connection
   * breaks, it may have been.
   */
  commitWith<R = Row>(sent: Sent): Promise<R[]>;
  /** That of the record of the encryption, if it began by reading it. */
  revision?: string;
  /** Once it has written something: whether it was committed, asked in a way after which it never will be if it was not. */
  settle?: () => Promise<boolean>;
}

export class Connections {
  readonly #pool: ClientPool;
  readonly #place: string;
  /** What poolers in transaction mode need: settings that end with the transaction, and no named statements. */
  readonly #pooled: readonly string[] | undefined;
  readonly #broken = new Set<() => void>();
  #underWay = 0;
  #idle = Promise.withResolvers<void>();
  #closed = false;

  constructor(pool: ClientPool, place: string, pooled?: readonly string[]) {
    this.#pool = pool;
    this.#place = place;
    this.#pooled = pooled;
    // Without listeners a restart of the server would end this process.
    pool.on('error', () => this.#tellBroken());
    pool.on('connect', (client) => void client.on('error', () => this.#tellBroken()));
  }

  /** Calls back whenever a connection broke. */
  onBroken(listener: () => void): void {
    this.#broken.add(listener);
  }

  #tellBroken(): void {
    for (const listener of this.#broken) listener();
  }

  /** A statement of its own that may be run twice: it reads, or writes what it would write again. */
  query<R = Row>(statement: Statement | string, values: readonly unknown[] = []): Promise<R[]> {
    return this.#persist(async () => (await this.#pool.query(this.#queryOf(statement, values))).rows as R[]);
  }

  /** A statement that is a transaction by itself, sent once; its error is as `pg` has it. */
  async send<R = Row>(statement: Statement | string, values: readonly unknown[]): Promise<R[]> {
    try {
      const sent = await this.#counted(() => this.#pool.query(this.#queryOf(statement, values)));
      return sent.rows as R[];
    } catch (error) {
      if (isDisconnected(error)) this.#tellBroken();
      throw error;
    }
  }

  /**
   * Runs `work`, all of it or nothing; it may run more than once. The transaction begins with `opening` and the `first`
   * statements, in one round trip.
   */
  transact<T>(
    work: (transaction: Transaction) => Promise<T>,
    opening = justBegin,
    first: () => readonly Sent[] = () => [],
  ): Promise<T> {
    return this.#persist(() => this.#attempt(work, opening, first));
  }

  /** Lets what is under way end: whoever waits for a connection of a pool that was ended is never answered by it. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#underWay > 0) await this.#idle.promise;
    await this.#pool.end();
  }

  async #counted<T>(act: () => Promise<T>): Promise<T> {
    this.#underWay++;
    try {
      return await act();
    } finally {
      if (--this.#underWay === 0 && this.#closed) this.#idle.resolve();
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
      // Several statements have several results.
      const revision = Array.isArray(opened) ? opened.at(-1).rows[0]?.revision : undefined;
      if (revision !== undefined) transaction.revision = revision;
      transaction.found = found.map(({ rows }) => rows);
      value = await work(transaction);
    } catch (error) {
      await giveBack(client, isDisconnected(error) ? undefined : 'rollback');
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
    return opening.replace(justBegin, [justBegin, ...settings].join(''));
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
        if (isDisconnected(error)) this.#tellBroken();
        if (this.#closed && codeOf(error) === undefined) throw storeClosed(this.#place);
        const again = isTaken(error) ? tries < triesForWhatIsTaken : isRetryable(error);
        // A connection that was silent for all that time says nothing about others.
        const isOver = tries > 1 && runtime.monotonic() - started > patienceMs;
        if (!again || isOver) throw toStoreError(error, this.#place);
      }
      // Not all at once, when the server is back.
      await pause(backoffMs(backoff, tries - 1) * (0.5 + runtime.random()));
    }
  }
}

/** Waits for all, and fails with the first that failed. */
async function allOf<T>(some: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(some);
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
  return settled.map((one) => (one as PromiseFulfilledResult<T>).value);
}

async function giveBack(
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
