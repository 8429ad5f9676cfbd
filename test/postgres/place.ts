import { randomBytes } from 'node:crypto';
import { openPostgres } from '../../src/postgres.ts';
import type { Place } from '../../src/testing/suite.ts';
import { query } from './server.ts';

/** Schemas that were used and emptied again: making one takes longer than most tests. */
const emptied = new Map<string, string[]>();

/** A place of its own in a database: two schemas that nobody else uses meanwhile. */
export function placeIn(url: string): Place {
  const schema = emptied.get(url)?.pop() ?? `place_${randomBytes(6).toString('hex')}`;
  return {
    open: (clock) => openPostgres(url, { clock, schema, connections: 5 }),
    remove: async () => {
      const tables = ['tasks', 'commits', 'results', 'secrets', 'sessions', 'processes'];
      const all = [...tables.map((table) => `${schema}.${table}`), `${schema}_jobs.job`];
      await query(url, `truncate ${all.join(', ')} restart identity cascade`);
      emptied.set(url, [...(emptied.get(url) ?? []), schema]);
    },
  };
}
