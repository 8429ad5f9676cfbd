/**
 * The transaction counter: one row with the identity of the database and the number of its last transaction. Every
 * transaction rewrites it. So if a write-ahead log lost its end, the counter is too low, even if the database file
 * already contains newer pages. No other page shows that.
 */
import { newId } from '../../../model/id.ts';
import { Corrupt } from '../../shared/corrupt.ts';
import { type Connection, connectWithoutLog } from '../driver.ts';

export interface TransactionCounter {
  /** A new value for every database and every back-up of it, because their transactions are unrelated. */
  readonly incarnation: string;
  readonly transactions: number;
  readonly newestCommit: number;
}

export const counterTable = `
  create table holdfast_transaction_counter (
    incarnation text not null,
    transactions integer not null,
    newest_commit integer not null
  );
`;

export function readCounter(db: Connection): TransactionCounter {
  const rows = db
    .prepare(
      'select incarnation, transactions, newest_commit as newestCommit from holdfast_transaction_counter',
    )
    .all();
  const [counter] = rows as unknown as TransactionCounter[];
  if (rows.length !== 1 || !/^[a-z2-7]{32}$/.test(counter!.incarnation))
    throw new Corrupt('its transaction counter is not readable');
  return counter!;
}

/** The counter in the database file, without the write-ahead log; undefined if it is unreadable. */
export function readCounterWithoutLog(file: string): TransactionCounter | undefined {
  let db: Connection | undefined;
  try {
    db = connectWithoutLog(file);
    return readCounter(db);
  } catch {
    return undefined;
  } finally {
    db?.close();
  }
}

/** Gives a database a new identity. Runs inside a transaction. */
export function renewCounter(db: Connection): void {
  const again = db.prepare(`
    update holdfast_transaction_counter
    set incarnation = ?, transactions = 0, newest_commit = (select coalesce(max(seq), 0) from commits)`);
  const first = db.prepare(`
    insert into holdfast_transaction_counter (incarnation, transactions, newest_commit)
    select ?, 0, coalesce(max(seq), 0) from commits`);
  if (again.run(newId()).changes === 0) first.run(newId());
}

/** Makes a transaction without row changes count as well. Runs inside it. */
export function touchCounter(db: Connection): void {
  db.exec('update holdfast_transaction_counter set transactions = transactions');
}

/**
 * Returns a function to call at the end of every transaction. It increments the counter and returns the number of the
 * transaction, or undefined if nothing was written.
 */
export function transactionCounter(db: Connection): () => number | undefined {
  const total = db.prepare('select total_changes() as changes');
  const counter = db.prepare(`
    update holdfast_transaction_counter
    set transactions = transactions + 1, newest_commit = (select coalesce(max(seq), 0) from commits)
    returning transactions`);
  const changes = () => (total.get() as { changes: number }).changes;
  let lastChanges = changes();
  return () => {
    if (changes() === lastChanges) return undefined;
    const { transactions } = counter.get() as { transactions: number };
    lastChanges = changes();
    return transactions;
  };
}
