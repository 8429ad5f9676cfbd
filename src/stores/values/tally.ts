/** How many tasks ended in which way, and how long they took. */
import type { Durations, EndedCounts } from '../../engine/survey.ts';
import { classOf, Histogram, type PackedHistogram } from './histogram.ts';
import type { EndedRow } from './survey-source.ts';

const ways = ['completed', 'failed', 'cancelled', 'lost'] as const;

type Counts = Record<keyof EndedCounts, number>;

export interface PackedTally {
  readonly counts: Readonly<Counts>;
  readonly durations: PackedHistogram;
}

/** A sum of many. */
export class Tally {
  readonly #counts: Counts = { completed: 0, failed: 0, cancelled: 0, lost: 0 };
  readonly #durations = new Histogram();

  /** `place` is the class of the row's duration. */
  add({ standing, count }: EndedRow, place: number): void {
    this.#counts[standing] += count;
    if (hasDuration(standing)) this.#durations.add(place, count);
  }

  merge({ counts, durations }: PackedTally): void {
    for (const way of ways) this.#counts[way] += counts[way];
    this.#durations.merge(durations);
  }

  get told(): EndedCounts & Durations {
    return {
      ...this.#counts,
      medianMs: this.#durations.quantile(0.5),
      p95Ms: this.#durations.quantile(0.95),
    };
  }
}

/** One of the many, small until it is packed and smaller then. */
export class CellTally {
  readonly #counts: Counts = { completed: 0, failed: 0, cancelled: 0, lost: 0 };
  readonly #durations = new Map<number, number>();

  add({ standing, durationMs, count }: EndedRow): void {
    this.#counts[standing] += count;
    if (!hasDuration(standing)) return;
    const place = classOf(durationMs);
    this.#durations.set(place, (this.#durations.get(place) ?? 0) + count);
  }

  get packed(): PackedTally {
    const places = Uint16Array.from(this.#durations.keys());
    return {
      counts: this.#counts,
      durations: { places, counts: Uint32Array.from(this.#durations.values()) },
    };
  }
}

function hasDuration(standing: keyof EndedCounts): boolean {
  return standing === 'completed' || standing === 'failed';
}
