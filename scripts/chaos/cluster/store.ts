import type { Database } from '../../../src/index.ts';
import { openSqlite } from '../../../src/sqlite.ts';

/** Opens the store of a URL. */
export async function openStore(url: string): Promise<Database> {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length));
  const { openPostgres } = await import('../../../src/postgres.ts');
  const directUrl = process.env.HOLDFAST_DIRECT_URL;
  return openPostgres(url, directUrl ? { directUrl } : {});
}
