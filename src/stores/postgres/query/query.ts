/** The `TaskQueries` on Postgres: the shared SQL with numbered parameters and encoded names. */
import type { TaskQueries } from '../../../ports/query.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { guarded, type QuerySource, SqlTaskQueries } from '../../shared/query/query.ts';
import type { Sql } from '../../shared/query/sql.ts';
import { withStoreErrors } from '../connections/driver.ts';
import type { Connections } from '../connections/pool.ts';
import { name as stored } from '../encryption/cells.ts';
import type { Vault } from '../encryption/vault.ts';
import { numbered, withNames } from '../tables.ts';

export function postgresQueries(parts: {
  readonly connections: Connections;
  readonly vault: Vault;
  readonly schema: string;
  readonly clock: Clock;
  readonly place: string;
}): TaskQueries {
  const { connections, vault, schema, clock, place } = parts;
  const all = async <Row>({ text, values }: Sql): Promise<Row[]> => {
    // All texts in these queries are names, such as ids, owners and tools.
    const names = values.map((value) => (typeof value === 'string' ? stored(value) : value));
    const rows = await connections.query<Record<string, unknown>>(numbered(text), names);
    return rows.map((row) => withNames(row) as Row);
  };
  const source: QuerySource<string> = {
    tasks: `${schema}.tasks`,
    commits: `${schema}.commits`,
    // The planner of Postgres selects the index.
    by: () => '',
    isAsleep: 'not ready',
    read: (text, column, id, version) => vault.read(text, column, id, version),
    all,
  };
  return guarded(new SqlTaskQueries(source, { clock }), (read) => withStoreErrors(place, read));
}
