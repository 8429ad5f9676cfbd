/** Draws rows as a waterfall: labels, bars below a time axis, and durations. */
import type { TaskDetails } from '../../operator/api.ts';
import { took } from '../time.ts';
import { type Colour, line, oneLine, type Piece, pad, truncate, width } from '../views/terminal-text.ts';
import type { Style } from './drawing-style.ts';
import { type Row, rowsOf } from './timeline.ts';

/** The maximum number of lines without `isFull`. */
const defaultLines = 60;

/** The width of the column of durations. */
const timeColumns = 8;

export function waterfall(details: TaskDetails, style: Style, mostLines = defaultLines): string[] {
  const rows = rowsOf(details, style);
  if (rows.length === 0) return [];
  const range = { from: details.task.createdAt, to: endOf(details, style.now) };
  const labelColumns = Math.min(
    Math.max(...rows.map(({ label, depth }) => width(label) + 2 * depth), 8),
    Math.floor((style.columns - 1) * (style.columns < 60 ? 0.4 : 0.34)),
  );
  // These times are not shortened on the axis.
  const busy = [
    ...details.passes.map(({ from, to }) => ({ from, to: to ?? style.now })),
    ...details.children.map(({ createdAt, finishedAt }) => ({
      from: createdAt,
      to: finishedAt ?? style.now,
    })),
  ];
  const axis = new Axis(range, busy, Math.max(6, style.columns - labelColumns - timeColumns - 4));

  const time = took(range.to - range.from).padStart(timeColumns);
  const lines = [
    line(
      [[pad('timeline', labelColumns), 'bold'], [' '], [axis.drawn(), 'dim'], [' '], [time, 'dim']],
      style,
    ),
  ];
  const kept = style.isFull ? new Set(rows) : mostImportant(rows, mostLines - 1);
  let left = 0;
  const addOmitted = () => {
    if (left > 0) lines.push(line([[`… ${left} more`, 'dim']], style));
    left = 0;
  };
  for (const row of rows) {
    if (!kept.has(row)) {
      left++;
      continue;
    }
    addOmitted();
    lines.push(...linesOf(row, axis, labelColumns, style));
  }
  addOmitted();
  if (details.omittedCalls > 0)
    lines.push(line([[`… ${details.omittedCalls} more calls are not available`, 'dim']], style));
  return lines;
}

function endOf({ task, passes, calls, children }: TaskDetails, now: number): number {
  if (task.finishedAt === undefined) return now;
  const ends = [...passes, ...calls].map(({ to }) => to ?? 0);
  return Math.max(task.finishedAt, ...ends, ...children.map(({ finishedAt }) => finishedAt ?? 0));
}

/** Chooses the rows to show in this number of lines: first by weight, then the newest. */
function mostImportant(rows: readonly Row[], mostLines: number): Set<Row> {
  const byInterest = rows.toReversed().sort((a, b) => b.weight - a.weight);
  const kept = new Set(byInterest.slice(0, mostLines));
  while (kept.size > 1 && linesWith(kept, rows) > mostLines) kept.delete(byInterest[kept.size - 1]!);
  return kept;
}

/** Counts the lines of these rows with their notes, and one line for each gap between them. */
function linesWith(kept: ReadonlySet<Row>, rows: readonly Row[]): number {
  return rows.reduce((lines, row, i) => {
    if (kept.has(row)) return lines + 1 + row.notes.length;
    return i === 0 || kept.has(rows[i - 1]!) ? lines + 1 : lines;
  }, 0);
}

function linesOf(row: Row, axis: Axis, labelColumns: number, style: Style): string[] {
  const indent = '  '.repeat(row.depth);
  const label = pad(truncate(`${indent}${row.label}`, labelColumns), labelColumns);
  const first: Piece[] = [
    row.depth === 0 ? [label, 'bold'] : [label],
    [' '],
    ...drawn(row, axis),
    [' '],
    [took(row.to - row.from).padStart(timeColumns), 'dim'],
  ];
  const notes = row.notes.map(({ text, colour }) => line([[`${indent}  `], [oneLine(text), colour]], style));
  return [line(first, style), ...notes];
}

/** The bar of a row. Adjacent cells of the same colour are one piece. */
function drawn({ from, to, sign, colour, continues, points = [] }: Row, axis: Axis): Piece[] {
  const cells: [string, Colour?][] = Array.from({ length: axis.columns }, () => [' ']);
  const [first, last] = [axis.columnOf(from), axis.columnOf(Math.max(from, to - 1))];
  for (let column = first; column <= last; column++) cells[column] = [sign, colour];
  if (continues) cells[last] = ['▸', colour];
  for (const point of points) {
    const column = axis.columnOf(Math.max(from, Math.min(point.at, to) - 1));
    cells[column] = [point.sign, point.colour];
  }
  const pieces: [string, Colour?][] = [];
  for (const [text, colour] of cells) {
    const before = pieces.at(-1);
    if (before && before[1] === colour) before[0] += text;
    else pieces.push(colour ? [text, colour] : [text]);
  }
  return pieces;
}

export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

type Part = TimeRange & { readonly isBusy: boolean };

/** Corrects rounding errors in sums of fractions. */
const rounding = 1e-9;

/**
 * Maps times to columns. If the idle time is more than twice the work, it is shortened to the length of the work. On a
 * linear axis a task that worked for a second and waited for three days would be a dot.
 */
export class Axis {
  readonly columns: number;
  readonly #segments: ReturnType<typeof segmentsOf>;

  constructor({ from, to }: TimeRange, busy: readonly TimeRange[], columns: number) {
    this.columns = columns;
    this.#segments = segmentsOf(alternating({ from, to: Math.max(to, from + 1) }, busy));
  }

  /** The column of a time, from 0. Times outside the range are in the first or last column. */
  columnOf(moment: number): number {
    const found = this.#segments.find(({ to }) => moment < to) ?? this.#segments[this.#segments.length - 1]!;
    const part = Math.max(0, Math.min(1, (moment - found.from) / Math.max(1, found.to - found.from)));
    return Math.max(
      0,
      Math.min(this.columns - 1, Math.floor((found.at + part * found.room) * this.columns + rounding)),
    );
  }

  /** The axis, with marks where it is shortened. */
  drawn(): string {
    const cells = new Array<string>(this.columns).fill('─');
    for (const { from, to, isShortened } of this.#segments)
      if (isShortened) {
        const [first, last] = [this.columnOf(from), this.columnOf(to - 1)];
        for (let column = first; column <= last; column++) cells[column] = '⋯';
      }
    cells[0] = '├';
    cells[this.columns - 1] = '┤';
    return cells.join('');
  }
}

/** Adds the start and the width of each part, as fractions of the axis. */
function segmentsOf(parts: readonly Part[]) {
  const lengthOf = ({ from, to }: Part) => to - from;
  const sum = (some: readonly Part[], of: (part: Part) => number) =>
    some.reduce((sum, part) => sum + of(part), 0);
  const idle = parts.filter(({ isBusy }) => !isBusy);
  const [work, rest] = [sum(parts, lengthOf) - sum(idle, lengthOf), sum(idle, lengthOf)];
  // The maximum weight of one idle part.
  const most = work > 0 && rest > 2 * work ? Math.max(1, work) / idle.length : Number.POSITIVE_INFINITY;
  const weightOf = (part: Part) => (part.isBusy ? lengthOf(part) : Math.min(lengthOf(part), most));
  const total = sum(parts, weightOf);
  let at = 0;
  return parts.map((part) => {
    const room = weightOf(part) / total;
    at += room;
    return { ...part, at: at - room, room, isShortened: weightOf(part) < lengthOf(part) };
  });
}

/** Splits the range into busy and idle parts. */
function alternating(range: TimeRange, busy: readonly TimeRange[]): Part[] {
  const parts: Part[] = [];
  let at = range.from;
  for (const { from, to } of busy.toSorted((a, b) => a.from - b.from)) {
    const [begin, end] = [Math.max(at, from), Math.min(range.to, to)];
    if (end <= begin) continue;
    if (begin > at) parts.push({ from: at, to: begin, isBusy: false });
    parts.push({ from: begin, to: end, isBusy: true });
    at = end;
  }
  if (at < range.to) parts.push({ from: at, to: range.to, isBusy: false });
  return parts;
}
