import { onTestFinished } from 'vitest';
import { temporaryFile } from '../kit/lifetime.ts';
import { freshDatabase } from '../postgres/database.ts';

export { isPostgres, type Options, open } from './open.ts';

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
