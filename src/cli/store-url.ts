/** Where tasks are kept, as it is said on a command line. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Database } from '../ports/queue.ts';
import { CommandFailed, WrongUsage } from './usage.ts';

/** Where the Postgres server itself can be reached, if --store leads to a connection pooler. */
export const directUrlVariable = 'HOLDFAST_DIRECT_URL';

export type StorePlace =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string };

export function storePlace(url: string): StorePlace {
  if (url === 'memory:') return { kind: 'memory' };
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return { kind: 'postgres', url };
  const file = /^sqlite:(.+)$/.exec(url)?.[1];
  if (file === undefined)
    throw new WrongUsage(
      `"${url}" is no place for tasks: use sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE or memory:`,
    );
  return { kind: 'sqlite', file };
}

/** Which variables of the environment hold the key to it: programs that we start must not see them. */
export function storeSecrets(url: string | undefined): (name: string, value: string) => boolean {
  const place = url === undefined ? undefined : storePlace(url);
  if (place?.kind !== 'postgres') return () => false;
  const keys = new Set([place.url, new URL(place.url).password]);
  const isSecret = (name: string) => name === 'PGPASSWORD' || name === directUrlVariable;
  return (name, value) => isSecret(name) || (value !== '' && keys.has(value));
}

/** How to open it; a file is made if it is not there. */
export async function storeAt(place: StorePlace): Promise<() => Promise<Database>> {
  if (place.kind === 'postgres') return onPostgres(place.url);
  const { sqlite } = await import('../sqlite.ts');
  if (place.kind === 'memory') return sqlite('memory:');
  const folder = dirname(resolve(place.file));
  try {
    // Now: what stands beside the store is written before it is opened.
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new CommandFailed(
      `The folder ${folder} cannot be made (${(error as Error).message}): choose a place for tasks with --store.`,
    );
  }
  return sqlite(place.file);
}

/** One that others have made. */
export async function existingStore(place: StorePlace): Promise<() => Promise<Database>> {
  if (place.kind === 'memory') throw new WrongUsage('memory: is another one in every process');
  if (place.kind === 'sqlite' && !existsSync(place.file))
    throw new CommandFailed(`There is no store at ${place.file}: --store says where it is.`);
  return storeAt(place);
}

/** One that is only looked at: a database that was mistaken for one must not be given tables. */
export async function storeWithTasks(place: StorePlace): Promise<() => Promise<Database>> {
  const open = await existingStore(place);
  if (place.kind !== 'postgres') return open;
  const { hasTasks } = await import('../stores/postgres/presence.ts');
  const { placeOf } = await import('../stores/postgres/connections/driver.ts');
  if (!(await hasTasks(place.url)))
    throw new CommandFailed(
      `There are no tasks in ${placeOf(place.url)}: see that --store names the database of a server. Nothing was changed here.`,
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
    throw new CommandFailed('Postgres needs the package pg: npm install pg');
  }
}
