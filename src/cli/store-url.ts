/** Store URLs on the command line. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Database } from '../ports/queue.ts';
import { CommandFailed, WrongUsage } from './usage.ts';

/** Names the URL of the Postgres server itself, for a --store that points to a connection pooler. */
export const directUrlVariable = 'HOLDFAST_DIRECT_URL';

export type StoreLocation =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string };

export function parseStoreUrl(url: string): StoreLocation {
  if (url === 'memory:') return { kind: 'memory' };
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return { kind: 'postgres', url };
  const file = /^sqlite:(.+)$/.exec(url)?.[1];
  if (file === undefined)
    throw new WrongUsage(
      `"${url}" is not a store URL: use sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE or memory:`,
    );
  return { kind: 'sqlite', file };
}

/**
 * Returns a function that is true for environment variables with credentials of the store. Programs that we start must
 * not see them.
 */
export function storeSecrets(url: string | undefined): (name: string, value: string) => boolean {
  const location = url === undefined ? undefined : parseStoreUrl(url);
  if (location?.kind !== 'postgres') return () => false;
  const keys = new Set([location.url, new URL(location.url).password]);
  const isSecret = (name: string) => name === 'PGPASSWORD' || name === directUrlVariable;
  return (name, value) => isSecret(name) || (value !== '' && keys.has(value));
}

/** Returns a function that opens the store, and creates a missing SQLite file. Its folder is created at once. */
export async function storeAt(location: StoreLocation): Promise<() => Promise<Database>> {
  if (location.kind === 'postgres') return onPostgres(location.url);
  const { sqlite } = await import('../sqlite.ts');
  if (location.kind === 'memory') return sqlite('memory:');
  const folder = dirname(resolve(location.file));
  try {
    // Created here because files next to the store are written before the store is opened.
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new CommandFailed(
      `Could not create the folder ${folder} (${(error as Error).message}): choose another location with --store.`,
    );
  }
  return sqlite(location.file);
}

/** Like `storeAt`, but fails if the store does not exist. */
export async function existingStore(location: StoreLocation): Promise<() => Promise<Database>> {
  if (location.kind === 'memory')
    throw new WrongUsage('memory: stores are private to one process; use sqlite: or postgres: here');
  if (location.kind === 'sqlite' && !existsSync(location.file))
    throw new CommandFailed(`There is no store at ${location.file}: pass its location with --store.`);
  return storeAt(location);
}

/**
 * Like `existingStore`, but fails if a Postgres database contains no tasks: the URL may name the wrong database, and
 * opening a store would create tables in it.
 */
export async function storeWithTasks(location: StoreLocation): Promise<() => Promise<Database>> {
  const open = await existingStore(location);
  if (location.kind !== 'postgres') return open;
  const { hasTasks } = await import('../stores/postgres/presence.ts');
  const { placeOf } = await import('../stores/postgres/connections/driver.ts');
  if (!(await hasTasks(location.url)))
    throw new CommandFailed(
      `${placeOf(location.url)} does not contain tasks: check that --store names the database of a server. Nothing was changed.`,
    );
  return open;
}

async function onPostgres(url: string): Promise<() => Promise<Database>> {
  try {
    const { postgres } = await import('../postgres.ts');
    const directUrl = process.env[directUrlVariable];
    return postgres(url, directUrl ? { directUrl } : {});
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new CommandFailed('Postgres stores need the package pg: npm install pg');
  }
}
