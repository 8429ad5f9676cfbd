/** Calls as a table. */
import type { HandleRecord, Handles } from '../client/handles.ts';
import { runtime } from '../model/runtime.ts';
import { oneLine, pad, truncate, width } from './live/width.ts';
import { shortId } from './registry.ts';
import { age } from './time.ts';

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
  const rows = records.map((record) => [
    shortId(record.id, handles),
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
  const lines = table.map((row) =>
    row
      .map((cell, column) => pad(truncate(cell, widths[column]!), widths[column]!))
      .join(gap)
      .trimEnd(),
  );
  const fits = lines.every((line) => width(line) < columns);
  const server = table[0]!.indexOf('SERVER');
  return fits || server < 0
    ? lines
    : fitted(
        table.map((row) => row.toSpliced(server, 1)),
        columns,
      );
}
