/**
 * The axis of a timeline maps times to positions between 0 and 1. Work is drawn to scale. Hours may pass between
 * seconds of work, so a long pause becomes a break: a short piece of the axis, labelled with the real duration.
 */

export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Break extends Span {
  /** Its position on the axis. */
  readonly left: number;
  readonly right: number;
}

export interface Tick {
  readonly at: number;
  readonly place: number;
  readonly label: string;
  /** Hidden on narrow screens. */
  readonly isMinor: boolean;
}

export interface Axis {
  readonly from: number;
  readonly to: number;
  readonly breaks: readonly Break[];
  readonly ticks: readonly Tick[];
  /** Times outside the axis map to its ends. */
  place(at: number): number;
}

interface Piece extends Span {
  readonly left: number;
  readonly right: number;
  readonly isBreak: boolean;
}

/** Shorter pauses are always drawn to scale. */
const minBreakMs = 2_000;
/** The share of the axis for one break, and for all breaks together. */
const breakShare = 0.14;
const breaksShare = 0.5;

/** `busy`: the spans in which a worker runs; `moments`: other points that must stay distinguishable. */
export function axisOf(whole: Span, busy: readonly Span[], moments: readonly number[] = []): Axis {
  const from = whole.from;
  const to = Math.max(whole.to, from + 1);
  const pieces = laidOut(cut(from, to, busy, moments));
  const place = (at: number) => placeIn(pieces, at);
  const breaks = pieces.filter((piece) => piece.isBreak);
  return { from, to, breaks, ticks: ticksOf(pieces, from), place };
}

/** Cuts the axis at all given points, and marks the pieces in which a worker runs. */
function cut(from: number, to: number, busy: readonly Span[], moments: readonly number[]) {
  const within = (at: number) => at > from && at < to;
  const points = [...busy.flatMap((span) => [span.from, span.to]), ...moments].filter(within);
  const all = [from, ...new Set(points.sort((a, b) => a - b)), to];
  const merged = mergedSpans(busy);
  let next = 0;
  return all.slice(1).map((end, i) => {
    const start = all[i]!;
    while (next < merged.length && merged[next]!.to <= start) next++;
    const isBusy = next < merged.length && merged[next]!.from < end;
    return { from: start, to: end, isBusy };
  });
}

function mergedSpans(spans: readonly Span[]): Span[] {
  const merged: { from: number; to: number }[] = [];
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else merged.push({ from, to });
  }
  return merged;
}

function laidOut(cuts: readonly (Span & { isBusy: boolean })[]): Piece[] {
  const length = ({ from, to }: Span) => to - from;
  const sum = (spans: readonly Span[]) => spans.reduce((total, span) => total + length(span), 0);
  // A pause is a break if it is long compared with everything drawn to scale. Short pauses are checked first.
  const pauses = cuts.filter((piece) => !piece.isBusy).sort((a, b) => length(a) - length(b));
  let toScale = sum(cuts.filter((piece) => piece.isBusy));
  const isBreak = new Set<Span>();
  for (const pause of pauses) {
    if (length(pause) > minBreakMs && length(pause) > toScale / 2 && toScale > 0) isBreak.add(pause);
    else toScale += length(pause);
  }
  const share = isBreak.size === 0 ? 0 : Math.min(breakShare, breaksShare / isBreak.size);
  const scale = (1 - share * isBreak.size) / Math.max(toScale, 1);
  let left = 0;
  return cuts.map((piece) => {
    const right = left + (isBreak.has(piece) ? share : length(piece) * scale);
    const laid = { from: piece.from, to: piece.to, left, right, isBreak: isBreak.has(piece) };
    left = right;
    return laid;
  });
}

function placeIn(pieces: readonly Piece[], at: number): number {
  if (at <= pieces[0]!.from) return 0;
  let low = 0;
  let high = pieces.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (pieces[middle]!.to < at) low = middle + 1;
    else high = middle;
  }
  const { from, to, left, right } = pieces[low]!;
  return at >= to ? Math.min(right, 1) : left + ((at - from) / (to - from)) * (right - left);
}

// --- Ticks ------------------------------------------------------------------------------------------------

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const steps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
  ...[1, 2, 3, 6, 12].map((n) => n * hour),
  ...[1, 2, 7, 14, 30, 90, 365].map((n) => n * day),
];

const maxTicks = 7;
/** Labels closer together than this would touch. */
const minDistance = 0.09;
const minDistanceOnPhones = 0.2;

function ticksOf(pieces: readonly Piece[], from: number): Tick[] {
  const scaled = pieces.filter((piece) => !piece.isBreak);
  const visible = scaled.reduce((total, piece) => total + piece.to - piece.from, 0);
  const step = steps.find((ms) => visible / ms <= maxTicks) ?? steps.at(-1)!;
  const ticks: Tick[] = [];
  for (const piece of scaled) {
    const first = Math.ceil((piece.from - from) / step) * step;
    for (let offset = first; from + offset <= piece.to; offset += step) {
      const place = placeIn(pieces, from + offset);
      const last = ticks.at(-1);
      if (last && place - last.place < minDistance) continue;
      const major = ticks.findLast(({ isMinor }) => !isMinor);
      // The label of the last tick is drawn to its left.
      const middle = Math.min(place, 0.94);
      const isMinor = major !== undefined && middle - major.place < minDistanceOnPhones - 1e-9;
      ticks.push({ at: from + offset, place, label: offsetLabel(offset, step), isMinor });
    }
  }
  return ticks;
}

/** The time since the start, as precise as the tick distance requires: `250 ms`, `4 s`, `2:05`, `2:05.5`, `3 h`. */
export function offsetLabel(offset: number, step: number): string {
  if (offset === 0) return '0';
  if (step < second && offset < minute)
    return step < 100 && offset < second ? `${offset} ms` : `${offset / second} s`;
  if (offset < minute) return `${offset / second} s`;
  const days = Math.floor(offset / day);
  const hours = Math.floor((offset % day) / hour);
  const minutes = Math.floor((offset % hour) / minute);
  const seconds = Math.floor((offset % minute) / second);
  const two = (n: number) => String(n).padStart(2, '0');
  if (step >= day) return `${days} d`;
  if (step >= hour) return days > 0 ? `${days} d ${hours} h` : `${hours} h`;
  if (step >= minute) {
    if (days > 0) return `${days} d ${hours}:${two(minutes)} h`;
    return hours > 0 ? `${hours}:${two(minutes)} h` : `${minutes} min`;
  }
  // Ticks less than a second apart, minutes after the start, need fractions to differ.
  const parts = step < second ? ((offset % second) / second).toFixed(step < 10 ? 3 : step < 100 ? 2 : 1) : '';
  const clock = hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
  const exact = `${clock}${parts.slice(1)}`;
  return days > 0 ? `${days} d ${exact}` : exact;
}
