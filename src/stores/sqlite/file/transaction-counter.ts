/**
 * The transaction counter: one row with the identity of the database and the number of its last transaction. Every
 * transaction that changes rows also updates this row. So if a write-ahead log lost its end, the counter is lower than
 * the last acknowledged transaction (`process-liveness.ts`), even if the database file already contains newer pages.
 * Nothing else in the database shows such a loss.
 */
import { newId } from '../../../model/id.ts';
import { Corrupt } from '../../shared/corrupt.ts';
import { type Connection, connectWithoutLog } from '../driver.ts';

export interface TransactionCounter {
  /** Random. A back-up gets its own, because the transactions of a database and of its back-up are unrelated. */
  readonly incarnation: string;
  /** How many transactions changed rows since the incarnation was generated. */
  readonly transactions: number;
  /** The highest `commits.seq` at the last counted transaction; 0 if there was none. */
  readonly newestCommit: number;
}

export const counterTable = `
  create table holdfast_transaction_counter (
    incarnation text not null,
    transactions integer not null,
    newest_commit integer not null
  );
`;

/** Throws `Corrupt` if the table does not have exactly one valid row. */
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

/** Gives a database a new incarnation and restarts the count. Call it inside a transaction. */
export function renewCounter(db: Connection): void {
  const again = db.prepare(`
    update holdfast_transaction_counter
    set incarnation = ?, transactions = 0, newest_commit = (select coalesce(max(seq), 0) from commits)`);
  const first = db.prepare(`
    insert into holdfast_transaction_counter (incarnation, transactions, newest_commit)
    select ?, 0, coalesce(max(seq), 0) from commits`);
  if (again.run(newId()).changes === 0) first.run(newId());
}

/** Makes a transaction that changes no rows count as well: an update counts even if it keeps the value. */
export function touchCounter(db: Connection): void {
  db.exec('update holdfast_transaction_counter set transactions = transactions');
}

/**
 * Returns a function to call last in every transaction, before the commit. It increments the counter and returns the
 * number of the transaction, or returns undefined if the transaction changed no rows.
 */
export function transactionCounter(db: Connection): () => number | undefined {
  // Counts all row changes of this connection, including those that were rolled back.
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
