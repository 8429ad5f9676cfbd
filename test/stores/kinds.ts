import type { Database } from 'holdfast';
import { type Encryption, openPostgres } from 'holdfast/postgres';
import { openSqlite, type SqliteDatabase } from 'holdfast/sqlite';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/model/clock.ts';
import { temporaryFile } from '../kit/lifetime.ts';
import { freshDatabase } from '../postgres/database.ts';

export interface Options {
  readonly clock?: Clock;
  readonly encryption?: Encryption;
}

export type Kind = (typeof kinds)[number];

/** Each with a place, a path or a URL, that nobody else uses. It goes with the test. */
export const kinds = [
  { name: 'SQLite', place: async () => temporaryFile() },
  {
    name: 'Postgres',
    async place() {
      const { url, remove } = await freshDatabase();
      onTestFinished(remove);
      return url;
    },
  },
];

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
