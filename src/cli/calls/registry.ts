/** The registry of calls made on this machine: its file, short ids, and the table of calls. */
import { join } from 'node:path';
import type { CallRecord, CallRegistry } from '../../client/call-registry.ts';
import { runtime } from '../../runtime/runtime.ts';
import { age } from '../time.ts';
import { CommandFailed, command, quoted, WrongUsage } from '../usage.ts';
import { type Column, oneLine, tableLine, totalWidth, widthsOf } from '../views/terminal-text.ts';
import type { Target } from './target.ts';

/** The minimum length of an abbreviated id on the command line. */
const minIdLength = 6;

/** The file that was given for each registry with `--handles`; undefined for the default file. */
const registryFiles = new WeakMap<CallRegistry, string | undefined>();

export async function openRegistry(file: string | undefined): Promise<CallRegistry> {
  const { dataFolder, openCallRegistry } = await import('../../client.ts');
  const registry = openCallRegistry(`sqlite:${file ?? join(dataFolder(), 'handles.db')}`);
  registryFiles.set(registry, file);
  return registry;
}

/**
 * Minimum length of a shown id. Eight letters of base 32 are practically unique, and operator commands need as many.
 */
const minShownLength = 8;

/** Shortens ids to unique prefixes that commands accept. */
export function shortIds(named: readonly { readonly id: string }[]): (id: string) => string {
  const sorted = [...new Set(named.map(({ id }) => id))].sort();
  const lengths = new Map(
    sorted.map((id, i) => [
      id,
      Math.max(minShownLength, 1 + Math.max(shared(id, sorted[i - 1]), shared(id, sorted[i + 1]))),
    ]),
  );
  return (id) => id.slice(0, lengths.get(id) ?? id.length);
}

/** The length of the common prefix. */
function shared(one: string, other = ''): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}

/** The call with this id or unique prefix of an id. */
export function recordOf(id: string, registry: CallRegistry): CallRecord {
  const exact = registry.get(id);
  if (exact) return exact;
  if (!/^[a-z2-7]+$/.test(id)) throw new WrongUsage(`"${id}" is not the id of a call`);
  if (id.length < minIdLength)
    throw new WrongUsage(`"${id}" is too short: give at least ${minIdLength} letters of an id`);
  const [found, ...more] = registry.list().filter((record) => record.id.startsWith(id));
  if (!found)
    throw new CommandFailed(
      `There is no call with the id ${id} on this machine: \`${command()} tasks list --all\` lists all calls.`,
    );
  if (more.length > 0)
    throw new WrongUsage(`${more.length + 1} calls have an id that begins with ${id}: give more letters`);
  return found;
}

/** The `tasks` command with this verb for a call, as the user would type it. Header values are not shown. */
export function resumeCommand(
  verb: string,
  id: string,
  { registry, target }: { readonly registry: CallRegistry; readonly target?: Target },
  ...rest: readonly string[]
): string {
  const file = registryFiles.get(registry);
  const headers = (target?.saved.headers ?? []).map((name) => `--header '${name}: …'`);
  return [
    `${command()} tasks ${verb} ${shortIds(registry.list())(id)}`,
    ...rest,
    ...headers,
    ...(file === undefined ? [] : [`--handles ${quoted(file)}`]),
  ].join(' ');
}

// --- The table ----------------------------------------------------------------------------------------------

/**
 * The status in the registry. The server may have a newer one. `called` means that there is no answer yet, `open` that
 * there is a task.
 */
export function statusOf({ ending, taskId }: CallRecord): string {
  if (!ending) return taskId === undefined ? 'called' : 'open';
  if (ending.kind === 'result') return ending.result.isError ? 'failed' : 'completed';
  return ending.kind;
}

/** The name of the tool or prompt, the URI of the resource, or else the method. */
export function toolOf({ method, params }: CallRecord): string {
  return oneLine(String(params.name ?? params.uri ?? method));
}

/** Columns that can be truncated keep at least this width. */
const minColumnWidth = 6;

export function printTable(records: readonly CallRecord[], registry: CallRegistry): void {
  if (records.length === 0) {
    console.error('No open calls; use --all to list finished calls too.');
    return;
  }
  const idOf = shortIds(registry.list());
  const now = runtime.now();
  const columns: Column<CallRecord>[] = [
    { head: 'ID', cell: ({ id }) => idOf(id) },
    { head: 'SERVER', cell: ({ server }) => oneLine(server), least: minColumnWidth },
    { head: 'TOOL', cell: toolOf, least: minColumnWidth },
    { head: 'STATUS', cell: statusOf },
    { head: 'AGE', cell: ({ createdAt }) => age(now - createdAt) },
  ];
  // In a pipe nothing is truncated. A terminal that is too narrow for all columns omits the servers.
  const room = (process.stdout.columns ?? Number.POSITIVE_INFINITY) - 1;
  const fits = totalWidth(widthsOf(columns, records, room)) <= room;
  const shown = fits ? columns : columns.filter(({ head }) => head !== 'SERVER');
  const widths = widthsOf(shown, records, room);
  const rows = records.map((record) => shown.map(({ cell }) => cell(record)));
  for (const row of [shown.map(({ head }) => head), ...rows]) console.log(tableLine(row, widths));
}
