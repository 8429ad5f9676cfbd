/**
 * Moments as columns. A task that worked for a second and then waited for three days would be a dot on a straight
 * axis; so stretches in which nobody worked on it are shortened until together they take no more room than the work.
 */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

interface Segment extends Stretch {
  /** Where it begins, and how much room it takes, as parts of the whole. */
  readonly at: number;
  readonly room: number;
  readonly isShortened: boolean;
}

/** Sums of fractions may fall short of a whole column by a hair. */
const rounding = 1e-9;

export class Axis {
  readonly columns: number;
  readonly #segments: readonly Segment[];

  constructor({ from, to }: Stretch, busy: readonly Stretch[], columns: number) {
    this.columns = columns;
    const parts = alternating({ from, to: Math.max(to, from + 1) }, busy);
    const lengthOf = (some: typeof parts) => some.reduce((sum, part) => sum + part.to - part.from, 0);
    const work = parts.filter((part) => part.isBusy);
    const idle = parts.filter((part) => !part.isBusy);
    const most =
      lengthOf(idle) > 2 * lengthOf(work) && work.length > 0
        ? Math.max(1, lengthOf(work)) / idle.length
        : Number.POSITIVE_INFINITY;
    const weightOf = (part: (typeof parts)[number]) =>
      part.isBusy ? part.to - part.from : Math.min(part.to - part.from, most);
    const total = parts.reduce((sum, part) => sum + weightOf(part), 0);
    let at = 0;
    this.#segments = parts.map((part) => {
      const room = weightOf(part) / total;
      const segment = { ...part, at, room, isShortened: weightOf(part) < part.to - part.from };
      at += room;
      return segment;
    });
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

/** Work and idleness in turn, from the beginning to the end. */
function alternating(whole: Stretch, busy: readonly Stretch[]): (Stretch & { readonly isBusy: boolean })[] {
  const parts: (Stretch & { readonly isBusy: boolean })[] = [];
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
