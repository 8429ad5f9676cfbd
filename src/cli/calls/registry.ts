/** Calls that were made on this machine: where their handles are, how they are named, and the table of them. */
import { join } from 'node:path';
import type { CallRecord, CallRegistry } from '../../client/call-registry.ts';
import { runtime } from '../../runtime/runtime.ts';
import { age } from '../time.ts';
import { CommandFailed, command, quoted, WrongUsage } from '../usage.ts';
import { type Column, oneLine, tableLine, totalWidth, widthsOf } from '../views/terminal-text.ts';
import type { Target } from './target.ts';

const fewest = 6;

/** Where the registry is; undefined for the usual place. */
const places = new WeakMap<CallRegistry, string | undefined>();

export async function openRegistry(file: string | undefined): Promise<CallRegistry> {
  const { dataFolder, openCallRegistry } = await import('../../client.ts');
  const handles = openCallRegistry(`sqlite:${file ?? join(dataFolder(), 'handles.db')}`);
  places.set(handles, file);
  return handles;
}

/** Eight letters of base 32 tell apart more than anybody looks at; no fewer find a task again. */
const fewestLetters = 8;

/** As much of each id as tells it from the others, and never less than finds a task again. */
export function shortIds(named: readonly { readonly id: string }[]): (id: string) => string {
  const sorted = [...new Set(named.map(({ id }) => id))].sort();
  const lengths = new Map(
    sorted.map((id, i) => [
      id,
      Math.max(fewestLetters, 1 + Math.max(shared(id, sorted[i - 1]), shared(id, sorted[i + 1]))),
    ]),
  );
  return (id) => id.slice(0, lengths.get(id) ?? id.length);
}

function shared(one: string, other = ''): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}

export function recordOf(id: string, handles: CallRegistry): CallRecord {
  const exact = handles.get(id);
  if (exact) return exact;
  if (!/^[a-z2-7]+$/.test(id)) throw new WrongUsage(`"${id}" is no id of a call`);
  if (id.length < fewest)
    throw new WrongUsage(`"${id}" is too short: give ${fewest} letters or more of an id`);
  const [found, ...more] = handles.list().filter((record) => record.id.startsWith(id));
  if (!found)
    throw new CommandFailed(
      `No call made here has the id ${id}: \`${command()} tasks list --all\` shows those that there are.`,
    );
  if (more.length > 0)
    throw new WrongUsage(`${more.length + 1} calls have an id that begins with ${id}: give more of it`);
  return found;
}

/** The command that comes back to a call, as whoever started this process would write it. */
export function comeBackWith(
  verb: string,
  id: string,
  { handles, target }: { readonly handles: CallRegistry; readonly target?: Target },
  ...rest: readonly string[]
): string {
  const file = places.get(handles);
  const headers = (target?.kept.headers ?? []).map((name) => `--header '${name}: …'`);
  return [
    `${command()} tasks ${verb} ${shortIds(handles.list())(id)}`,
    ...rest,
    ...headers,
    ...(file === undefined ? [] : [`--handles ${quoted(file)}`]),
  ].join(' ');
}

// --- The table ----------------------------------------------------------------------------------------------

/** As far as it is known here; a server may know more. */
export function statusOf({ ending, taskId }: CallRecord): string {
  if (!ending) return taskId === undefined ? 'called' : 'open';
  if (ending.kind === 'result') return ending.result.isError ? 'failed' : 'completed';
  return ending.kind;
}

export function toolOf({ method, params }: CallRecord): string {
  return oneLine(String(params.name ?? params.uri ?? method));
}

const narrowest = 6;

export function printTable(records: readonly CallRecord[], handles: CallRegistry): void {
  if (records.length === 0) {
    console.error('There is nothing to come back to; --all shows what is over.');
    return;
  }
  const idOf = shortIds(handles.list());
  const now = runtime.now();
  const columns: Column<CallRecord>[] = [
    { head: 'ID', cell: ({ id }) => idOf(id) },
    { head: 'SERVER', cell: ({ server }) => oneLine(server), least: narrowest },
    { head: 'TOOL', cell: toolOf, least: narrowest },
    { head: 'STATUS', cell: statusOf },
    { head: 'AGE', cell: ({ createdAt }) => age(now - createdAt) },
  ];
  // In a pipe nothing is cut. A terminal that is too narrow for all columns does without the servers.
  const room = (process.stdout.columns ?? Number.POSITIVE_INFINITY) - 1;
  const fits = totalWidth(widthsOf(columns, records, room)) <= room;
  const shown = fits ? columns : columns.filter(({ head }) => head !== 'SERVER');
  const widths = widthsOf(shown, records, room);
  const rows = records.map((record) => shown.map(({ cell }) => cell(record)));
  for (const row of [shown.map(({ head }) => head), ...rows]) console.log(tableLine(row, widths));
}
