/** Checks whether a database has the tables of a store. Unlike opening a store, this creates none. */
import { clientConfig, loadDriver, placeOf, queryOnce, withStoreErrors } from './connections/driver.ts';

/** The statement timeout, in milliseconds. */
const askMs = 10_000;

/** True if the schema contains the tables of a store. They may be empty. */
export async function hasTasks(url: string, schema = 'holdfast'): Promise<boolean> {
  const place = placeOf(url);
  const pg = await loadDriver(place);
  const config = clientConfig(url, { statementMs: askMs });
  const text = 'select to_regclass($1) is not null as found';
  const [row] = await withStoreErrors(place, () => queryOnce(pg, config, text, [`${schema}.schema_version`]));
  return row.found;
}
