/** Opening a store of either kind, also in programs that tests start: nothing here belongs to the test runner. */
import type { Database } from 'holdfast';
import { type Encryption, openPostgres } from 'holdfast/postgres';
import { openSqlite, type SqliteDatabase } from 'holdfast/sqlite';
import type { Clock } from '../../src/runtime/clock.ts';

export interface Options {
  readonly clock?: Clock;
  readonly encryption?: Encryption;
}

/** Whatever kind it is of. */
export function open(
  place: string,
  options: Options = {},
): Promise<Database & Pick<SqliteDatabase, 'rekey'>> {
  return isPostgres(place) ? openPostgres(place, { ...options, connections: 5 }) : openSqlite(place, options);
}

export function isPostgres(place: string): boolean {
  return place.startsWith('postgres');
}
