/**
 * The seal: one row, rewritten by every transaction, that says which database this is and how much of it there must
 * be. Because every transaction writes its page, a write-ahead log that lost its end shows an old count, even when
 * the database file itself already holds newer pages; no other page tells that.
 */
import { newId } from '../../../model/id.ts';
import { Corrupt } from '../../shared/corrupt.ts';
import { type Connection, connectToFileAlone } from '../driver.ts';

export interface TransactionCounter {
  /** Made anew for every database and every back-up of it: what one acknowledged says nothing about the other. */
  readonly incarnation: string;
  readonly transactions: number;
  readonly newestCommit: number;
}

export const counterTable = `
  create table holdfast_seal (
    incarnation text not null,
    transactions integer not null,
    newest_commit integer not null
  );
`;

export function readCounter(db: Connection): TransactionCounter {
  const rows = db
    .prepare('select incarnation, transactions, newest_commit as newestCommit from holdfast_seal')
    .all();
  const [seal] = rows as unknown as TransactionCounter[];
  if (rows.length !== 1 || !/^[a-z2-7]{32}$/.test(seal!.incarnation)) throw new Corrupt('its seal is broken');
  return seal!;
}

/** The seal in the database file itself, without what its write-ahead log adds; none if it cannot be read. */
export function readCounterOfFileAlone(file: string): TransactionCounter | undefined {
  let db: Connection | undefined;
  try {
    db = connectToFileAlone(file);
    return readCounter(db);
  } catch {
    return undefined;
  } finally {
    db?.close();
  }
}

/** Gives a database a new identity. Inside a transaction. */
export function renewCounter(db: Connection): void {
  const again = db.prepare(`
    update holdfast_seal
    set incarnation = ?, transactions = 0, newest_commit = (select coalesce(max(seq), 0) from commits)`);
  const first = db.prepare(`
    insert into holdfast_seal (incarnation, transactions, newest_commit)
    select ?, 0, coalesce(max(seq), 0) from commits`);
  if (again.run(newId()).changes === 0) first.run(newId());
}

/** Counts as a change, so that a transaction which changes no row is sealed too. Inside a transaction. */
export function touchCounter(db: Connection): void {
  db.exec('update holdfast_seal set transactions = transactions');
}

/**
 * A function to end every transaction with: it seals what was written and gives the transaction's number, or nothing
 * if nothing was written.
 */
export function counting(db: Connection): () => number | undefined {
  const total = db.prepare('select total_changes() as changes');
  const seal = db.prepare(`
    update holdfast_seal
    set transactions = transactions + 1, newest_commit = (select coalesce(max(seq), 0) from commits)
    returning transactions`);
  const changes = () => (total.get() as { changes: number }).changes;
  let sealed = changes();
  return () => {
    if (changes() === sealed) return undefined;
    const { transactions } = seal.get() as { transactions: number };
    sealed = changes();
    return transactions;
  };
}
