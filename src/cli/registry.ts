/** Calls that were made on this machine: where their handles are, how they are named, and the table of them. */
import { join } from 'node:path';
import type { HandleRecord, Handles } from '../client/handles.ts';
import { runtime } from '../model/runtime.ts';
import { oneLine, tableLine, truncate, width } from './live/terminal-text.ts';
import type { Target } from './target.ts';
import { age } from './time.ts';
import { CommandFailed, command, quoted, WrongUsage } from './usage.ts';

const fewest = 6;

/** Where the registry is; undefined for the usual place. */
const places = new WeakMap<Handles, string | undefined>();

export async function openRegistry(file: string | undefined): Promise<Handles> {
  const { dataFolder, openHandles } = await import('../client.ts');
  const handles = openHandles(`sqlite:${file ?? join(dataFolder(), 'handles.db')}`);
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

export function recordOf(id: string, handles: Handles): HandleRecord {
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
  { handles, target }: { readonly handles: Handles; readonly target?: Target },
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
export function statusOf({ ending, taskId }: HandleRecord): string {
  if (!ending) return taskId === undefined ? 'called' : 'open';
  if (ending.kind === 'result') return ending.result.isError ? 'failed' : 'completed';
  return ending.kind;
}

export function toolOf({ method, params }: HandleRecord): string {
  return oneLine(String(params.name ?? params.uri ?? method));
}

const heads = ['ID', 'SERVER', 'TOOL', 'STATUS', 'AGE'];
const gap = '  ';
const narrowest = 6;

export function printTable(records: readonly HandleRecord[], handles: Handles): void {
  if (records.length === 0) {
    console.error('There is nothing to come back to; --all shows what is over.');
    return;
  }
  const idOf = shortIds(handles.list());
  const rows = records.map((record) => [
    idOf(record.id),
    oneLine(record.server),
    toolOf(record),
    statusOf(record),
    age(runtime.now() - record.createdAt),
  ]);
  for (const line of fitted([heads, ...rows], process.stdout.columns)) console.log(line);
}

/** What a narrow terminal lacks is taken from the tools, and then from the servers. In a pipe nothing is cut. */
function fitted(table: readonly (readonly string[])[], columns = Number.POSITIVE_INFINITY): string[] {
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => width(row[column]!))));
  const excess = widths.reduce((sum, width) => sum + width + gap.length, 0) - gap.length - (columns - 1);
  for (const [column, head] of table[0]!.entries()) {
    if (excess <= 0 || (head !== 'TOOL' && head !== 'SERVER')) continue;
    widths[column] = Math.max(narrowest, widths[column]! - Math.ceil(excess / (table[0]!.length - 3)));
  }
  const lines = table.map((row) => {
    const cells = row.map((cell, column) => truncate(cell, widths[column]!));
    return tableLine(cells, widths);
  });
  const fits = lines.every((line) => width(line) < columns);
  const server = table[0]!.indexOf('SERVER');
  if (fits || server < 0) return lines;
  const narrower = table.map((row) => row.toSpliced(server, 1));
  return fitted(narrower, columns);
}
