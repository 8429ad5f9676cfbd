import type { Database } from 'holdfast';
import { type Encryption, openPostgres } from 'holdfast/postgres';
import { openSqlite } from 'holdfast/sqlite';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/model/clock.ts';
import { temporaryFile } from '../kit/lifetime.ts';
import { freshDatabase } from '../postgres/database.ts';

export interface Opened extends Database {
  reencrypt(): Promise<void>;
}

export interface Options {
  readonly clock?: Clock;
  readonly encryption?: Encryption;
}

export interface Kind {
  readonly name: string;
  /** A path or a URL that nobody else uses. It goes with the test. */
  place(): Promise<string>;
}

export const kinds: readonly Kind[] = [
  {
    name: 'SQLite',
    place: async () => temporaryFile(),
  },
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
export function open(place: string, options: Options = {}): Promise<Opened> {
  return isPostgres(place) ? openPostgres(place, { ...options, connections: 5 }) : openSqlite(place, options);
}

export function isPostgres(place: string): boolean {
  return place.startsWith('postgres');
}
