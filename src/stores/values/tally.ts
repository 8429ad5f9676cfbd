/**
 * How many tasks ended in which way, and how long they took. Durations are in classes that grow by a twentieth each:
 * many are merged into one, and a quantile is right to a few per cent.
 */
import type { Durations, EndedCounts } from '../../engine/survey.ts';
import { codes } from './standing-codes.ts';
import type { EndedSums } from './survey-source.ts';

const growth = Math.log(1.05);
/** The last one begins after more than a hundred years. */
const classes = 600;

/** Kinds, in the order of codes: those that completed, by class, those that failed, and others, however long they took. */
const failed = classes;
const cancelled = 2 * classes;
const lost = cancelled + 1;
export const kinds = lost + 1;

/** Zero is in a class of its own. */
export function classOf(ms: number): number {
  return Math.round(Math.log1p(Math.max(0, ms)) / growth);
}

/** The same, of an expression in SQL. */
export function classInSql(ms: string): string {
  return `(ln(1 + greatest(0, ${ms})) / ${growth})::integer`;
}

/** Of a code of a standing, and a class of durations; none if that is not how tasks end. */
export function kindOf(code: number, place: number): number | undefined {
  const way = code - codes.completed;
  if (way < 0 || way > 3) return undefined;
  return way < 2 ? way * classes + Math.min(place, classes - 1) : cancelled + way - 2;
}

export class Tally {
  readonly #counts = new Float64Array(kinds);

  add({ kinds, counts }: Pick<EndedSums, 'kinds' | 'counts'>): void {
    for (let i = 0; i < kinds.length; i++) this.#counts[kinds[i]!]! += counts[i]!;
  }

  get told(): EndedCounts & Durations {
    const completed = sumOf(this.#counts.subarray(0, failed));
    const all = completed + sumOf(this.#counts.subarray(failed, cancelled));
    return {
      completed,
      failed: all - completed,
      cancelled: this.#counts[cancelled]!,
      lost: this.#counts[lost]!,
      medianMs: this.#quantile(0.5, all),
      p95Ms: this.#quantile(0.95, all),
    };
  }

  /** Null if there is nothing. */
  #quantile(share: number, all: number): number | null {
    if (all === 0) return null;
    let left = Math.max(1, Math.ceil(all * share));
    let place = 0;
    const at = () => this.#counts[place]! + this.#counts[failed + place]!;
    for (; place < classes - 1 && left > at(); place++) left -= at();
    return Math.round(Math.expm1(place * growth));
  }
}

function sumOf(counts: Float64Array): number {
  let sum = 0;
  for (const count of counts) sum += count;
  return sum;
}
