/** Statements of a kind that is needed more than once. */
import type { Connection } from './driver.ts';

/** In an index alone: no row is read. */
export function counting(db: Connection, index: string, condition: string) {
  const sql = (more: string) =>
    `select count(*) as n from (select 1 from tasks indexed by ${index} where ${condition} ${more} limit ?)`;
  return { all: db.prepare(sql('')), own: db.prepare(sql('and owner = ?')) };
}

export function asArrays<S extends { setReturnArrays(enabled: boolean): void }>(statement: S): S {
  statement.setReturnArrays(true);
  return statement;
}
