/** `holdfast store`: maintenance of a whole store. */
import type { RekeyReport } from '../../sqlite.ts';
import type { Encryption } from '../../stores/shared/encryption/keys.ts';
import { parseStoreUrl, type StoreLocation, storeWithTasks } from '../store-url.ts';
import { printError, readArguments, WrongUsage } from '../usage.ts';

const help = `Re-encrypts a store: under a new key, for the first time, or back to plain text.

Usage: HOLDFAST_KEYS=ID=KEY,... holdfast store rekey --store URL [--decrypt] [--json]

Re-encrypts every value that is not encrypted with the newest key, in batches, and then counts all values by key.
Servers can run at the same time if they have the newest key. The command can be interrupted and repeated. Remove an old
key once no values are left under it. A SQLite file that contained plain text is compacted at the end, so that no plain
text remains in it. On Postgres, run VACUUM FULL.

  --store URL      sqlite:PATH or postgres://...
  --decrypt        write all values as plain text: this switches encryption off
  --json           print the report as JSON
  -h, --help       show this help

HOLDFAST_KEYS contains every key of the store, the newest first: 32 bytes each, in base64 or hex.

Exit code: 0 if every value is under the newest key, 1 if some are left or something failed, 2 if the usage is wrong.`;

export async function store(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, help, {
    store: { type: 'string' },
    decrypt: { type: 'boolean' },
    json: { type: 'boolean' },
  });
  const [action, ...more] = positionals;
  if (action !== 'rekey')
    throw new WrongUsage(action === undefined ? 'store needs a command' : `unknown command: store ${action}`);
  if (more.length > 0) throw new WrongUsage(`unexpected argument "${more[0]}" for store rekey`);
  if (values.store === undefined) throw new WrongUsage('store rekey needs --store URL');
  const keys = keysFrom(process.env.HOLDFAST_KEYS);
  // Without a current key, values are written as plain text.
  const encryption = values.decrypt ? { ...keys, current: null } : keys;
  const location = parseStoreUrl(values.store);
  if (location.kind === 'memory') throw new WrongUsage('memory: is private to one process');
  const report = await rekeyed(location, encryption);
  if (values.json) console.log(JSON.stringify(report));
  else for (const line of linesOf(report)) console.log(line);
  if (report.left === 0) return 0;
  printError({
    message: `${counted(report.left)} could not be re-encrypted, or changed at the same time. Run the command again. Values that remain are corrupt, or HOLDFAST_KEYS lacks their key.`,
  });
  return 1;
}

/** Parses `ID=KEY,ID=KEY`. The first key is the newest, with which values are encrypted. */
function keysFrom(text: string | undefined): Encryption {
  const pairs = (text ?? '').split(/[,\s]+/).filter((pair) => pair !== '');
  if (pairs.length === 0) throw new WrongUsage('HOLDFAST_KEYS is not set');
  const keys = pairs.map((pair) => {
    // A key in base64 may contain `=` too.
    const end = pair.indexOf('=');
    if (end < 1) throw new WrongUsage('HOLDFAST_KEYS is not a list of ID=KEY');
    return [pair.slice(0, end), pair.slice(end + 1)] as const;
  });
  return { keys: Object.fromEntries(keys), current: keys[0]![0] };
}

async function rekeyed(
  location: Exclude<StoreLocation, { kind: 'memory' }>,
  encryption: Encryption,
): Promise<RekeyReport> {
  // Called only because it fails if there is no store: opening would create one.
  await storeWithTasks(location);
  const database =
    location.kind === 'postgres'
      ? await (await import('../../postgres.ts')).openPostgres(location.url, { encryption })
      : await (await import('../../sqlite.ts')).openSqlite(location.file, { encryption });
  try {
    return await database.rekey();
  } finally {
    await database.close();
  }
}

function linesOf({ newest, rewritten, keys }: RekeyReport): string[] {
  const under = (id: string | null) =>
    id === null ? 'as plain text' : id === '?' ? 'under no known key' : `under ${id}`;
  return [
    `Re-encrypted ${counted(rewritten)}.`,
    ...keys.map(({ id, values }) =>
      id === newest ? `${counted(values)} ${under(id)}` : `${counted(values)} left ${under(id)}`,
    ),
  ];
}

function counted(values: number): string {
  return `${values.toLocaleString('en')} ${values === 1 ? 'value' : 'values'}`;
}
