import { randomBytes } from 'node:crypto';
import { openPostgres, type PostgresOptions } from '../../src/postgres.ts';
import type { Place } from '../../src/testing/stores/suite.ts';
import { query } from './server.ts';

/** Schemas that were used and emptied again: making one takes longer than most tests. */
const emptied = new Map<string, string[]>();

/** A place of its own in a database: a schema that nobody else uses meanwhile. `through` is the URL of a pooler. */
export function placeIn(url: string, options: () => PostgresOptions = () => ({}), through = url): Place {
  const schema = emptied.get(url)?.pop() ?? `place_${randomBytes(6).toString('hex')}`;
  return {
    open: (clock) => openPostgres(through, { clock, schema, connections: 5, ...options() }),
    remove: async () => {
      const tables = ['tasks', 'commits', 'results', 'secrets', 'sessions', 'processes', 'lanes'];
      const all = tables.map((table) => `${schema}.${table}`);
      await query(
        url,
        `truncate ${all.join(', ')} restart identity cascade;
        set session_replication_role = replica; delete from ${schema}.audit; delete from ${schema}.encryption`,
      );
      emptied.set(url, [...(emptied.get(url) ?? []), schema]);
    },
  };
}
