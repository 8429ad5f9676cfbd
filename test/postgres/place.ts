import { randomBytes } from 'node:crypto';
import { openPostgres } from '../../src/postgres.ts';
import type { Place } from '../../src/testing/suite.ts';
import { query } from './server.ts';

/** A place of its own in a database: two schemas that nobody else uses. */
export function placeIn(url: string): Place {
  const schema = `place_${randomBytes(6).toString('hex')}`;
  return {
    open: (clock) => openPostgres(url, { clock, schema, connections: 5 }),
    remove: async () => {
      await query(url, `drop schema if exists ${schema}, ${schema}_jobs cascade`);
    },
  };
}
