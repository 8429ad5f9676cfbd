/** Rows as a waterfall: names, bars below an axis of time, and how long each took. */
import type { TaskDetails } from '../../operator/api.ts';
import { took } from '../time.ts';
import { type Colour, line, oneLine, type Piece, pad, truncate, width } from '../views/terminal-text.ts';
import type { Look } from './drawing-style.ts';
import { type Row, rowsOf } from './timeline.ts';

/** As many lines as people look at; `isFull` has them all. */
const usualLines = 60;

const timeColumns = 8;

export function waterfall(story: TaskDetails, look: Look, mostLines = usualLines): string[] {
  const rows = rowsOf(story, look);
  if (rows.length === 0) return [];
  const whole = { from: story.task.createdAt, to: endOf(story, look.now) };
  const labelColumns = Math.min(
    Math.max(...rows.map(({ label, depth }) => width(label) + 2 * depth), 8),
    Math.floor((look.columns - 1) * (look.columns < 60 ? 0.4 : 0.34)),
  );
  const busy = [
    ...story.passes.map(({ from, to }) => ({ from, to: to ?? look.now })),
    ...story.children.map(({ createdAt, finishedAt }) => ({ from: createdAt, to: finishedAt ?? look.now })),
  ];
  const axis = new Axis(whole, busy, Math.max(6, look.columns - labelColumns - timeColumns - 4));

  const time = took(whole.to - whole.from).padStart(timeColumns);
  const lines = [
    line([[pad('timeline', labelColumns), 'bold'], [' '], [axis.drawn(), 'dim'], [' '], [time, 'dim']], look),
  ];
  const kept = look.isFull ? new Set(rows) : mostImportant(rows, mostLines - 1);
  let left = 0;
  const sayWhatIsLeftOut = () => {
    if (left > 0) lines.push(line([[`… ${left} more`, 'dim']], look));
    left = 0;
  };
  for (const row of rows) {
    if (!kept.has(row)) {
      left++;
      continue;
    }
    sayWhatIsLeftOut();
    lines.push(...linesOf(row, axis, labelColumns, look));
  }
  sayWhatIsLeftOut();
  if (story.omittedCalls > 0)
    lines.push(line([[`… and ${story.omittedCalls} calls that are not told any more`, 'dim']], look));
  return lines;
}

function endOf({ task, passes, calls, children }: TaskDetails, now: number): number {
  if (task.finishedAt === undefined) return now;
  const ends = [...passes, ...calls].map(({ to }) => to ?? 0);
  return Math.max(task.finishedAt, ...ends, ...children.map(({ finishedAt }) => finishedAt ?? 0));
}

/** Deaths and what is open stay, then what is new; the rest makes room. */
function mostImportant(rows: readonly Row[], mostLines: number): Set<Row> {
  const byInterest = rows.toReversed().sort((a, b) => b.weight - a.weight);
  const kept = new Set(byInterest.slice(0, mostLines));
  while (kept.size > 1 && linesWith(kept, rows) > mostLines) kept.delete(byInterest[kept.size - 1]!);
  return kept;
}

/** A line says of each gap how many are left out. */
function linesWith(kept: ReadonlySet<Row>, rows: readonly Row[]): number {
  return rows.reduce((lines, row, i) => {
    if (kept.has(row)) return lines + 1 + row.notes.length;
    return i === 0 || kept.has(rows[i - 1]!) ? lines + 1 : lines;
  }, 0);
}

function linesOf(row: Row, axis: Axis, labelColumns: number, look: Look): string[] {
  const indent = '  '.repeat(row.depth);
  const label = pad(truncate(`${indent}${row.label}`, labelColumns), labelColumns);
  const first: Piece[] = [
    row.depth === 0 ? [label, 'bold'] : [label],
    [' '],
    ...drawn(row, axis),
    [' '],
    [took(row.to - row.from).padStart(timeColumns), 'dim'],
  ];
  const notes = row.notes.map(({ text, colour }) => line([[`${indent}  `], [oneLine(text), colour]], look));
  return [line(first, look), ...notes];
}

/** Cells of the same colour are one piece. */
function drawn({ from, to, sign, colour, goesOn, points = [] }: Row, axis: Axis): Piece[] {
  const cells: [string, Colour?][] = Array.from({ length: axis.columns }, () => [' ']);
  const [first, last] = [axis.columnOf(from), axis.columnOf(Math.max(from, to - 1))];
  for (let column = first; column <= last; column++) cells[column] = [sign, colour];
  if (goesOn) cells[last] = ['▸', colour];
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

/**
 * Moments as columns. A task that worked for a second and then waited for three days would be a dot on a straight
 * axis; so stretches in which nobody worked on it are shortened until together they take no more room than the work.
 */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

type Part = Stretch & { readonly isBusy: boolean };

/** Sums of fractions may fall short of a whole column by a hair. */
const rounding = 1e-9;

export class Axis {
  readonly columns: number;
  readonly #segments: ReturnType<typeof segmentsOf>;

  constructor({ from, to }: Stretch, busy: readonly Stretch[], columns: number) {
    this.columns = columns;
    this.#segments = segmentsOf(alternating({ from, to: Math.max(to, from + 1) }, busy));
  }

  columnOf(moment: number): number {
    const found = this.#segments.find(({ to }) => moment < to) ?? this.#segments[this.#segments.length - 1]!;
    const part = Math.max(0, Math.min(1, (moment - found.from) / Math.max(1, found.to - found.from)));
    return Math.max(
      0,
      Math.min(this.columns - 1, Math.floor((found.at + part * found.room) * this.columns + rounding)),
    );
  }

  /** The axis itself: where it is shortened it shows. */
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

/** Each part with where it begins and how much room it takes, as fractions of the whole. */
function segmentsOf(parts: readonly Part[]) {
  const lengthOf = ({ from, to }: Part) => to - from;
  const sum = (some: readonly Part[], of: (part: Part) => number) =>
    some.reduce((sum, part) => sum + of(part), 0);
  const idle = parts.filter(({ isBusy }) => !isBusy);
  const [work, rest] = [sum(parts, lengthOf) - sum(idle, lengthOf), sum(idle, lengthOf)];
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

/** Work and idleness in turn, from the beginning to the end. */
function alternating(whole: Stretch, busy: readonly Stretch[]): Part[] {
  const parts: Part[] = [];
  let at = whole.from;
  for (const { from, to } of busy.toSorted((a, b) => a.from - b.from)) {
    const [begin, end] = [Math.max(at, from), Math.min(whole.to, to)];
    if (end <= begin) continue;
    if (begin > at) parts.push({ from: at, to: begin, isBusy: false });
    parts.push({ from: begin, to: end, isBusy: true });
    at = end;
  }
  if (at < whole.to) parts.push({ from: at, to: whole.to, isBusy: false });
  return parts;
}
