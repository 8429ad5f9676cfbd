/** Whether there are tasks in a database. Asking changes nothing there, where opening it would make tables. */
import { clientConfig, loadDriver, placeOf, worded } from './driver.ts';

const askMs = 10_000;

export async function holdsTasks(url: string, schema = 'holdfast'): Promise<boolean> {
  const place = placeOf(url);
  const pg = await loadDriver(place);
  const client = new pg.Client(clientConfig(url, { statementMs: askMs }));
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query('select to_regclass($1) is not null as found', [
      `${schema}.schema_version`,
    ]);
    return rows[0].found;
  } catch (error) {
    throw worded(error, place);
  } finally {
    await client.end().catch(() => {});
  }
}
