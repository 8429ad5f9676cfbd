/** Checks whether a database contains tasks. Unlike opening a store, this creates no tables. */
import { clientConfig, loadDriver, placeOf, queryOnce, withStoreErrors } from './connections/driver.ts';

const askMs = 10_000;

export async function hasTasks(url: string, schema = 'holdfast'): Promise<boolean> {
  const place = placeOf(url);
  const pg = await loadDriver(place);
  const config = clientConfig(url, { statementMs: askMs });
  const text = 'select to_regclass($1) is not null as found';
  const [row] = await withStoreErrors(place, () => queryOnce(pg, config, text, [`${schema}.schema_version`]));
  return row.found;
}
