/**
 * Durations in classes that grow by a twentieth each: many are merged into one, and a quantile is right to a few per
 * cent.
 */
const growth = Math.log(1.05);
/** The last one begins after more than a hundred years. */
const classes = 600;

/** How many there are of each class that occurs. */
export interface PackedHistogram {
  readonly places: Uint16Array;
  readonly counts: Uint32Array;
}

/** Zero is in a class of its own. */
export function classOf(ms: number): number {
  return Math.min(classes - 1, Math.round(Math.log1p(Math.max(0, ms)) / growth));
}

export class Histogram {
  readonly #counts = new Float64Array(classes);

  add(place: number, count: number): void {
    this.#counts[place]! += count;
  }

  merge({ places, counts }: PackedHistogram): void {
    for (let i = 0; i < places.length; i++) this.#counts[places[i]!]! += counts[i]!;
  }

  /** Null if there is nothing. */
  quantile(share: number): number | null {
    const all = this.#counts.reduce((sum, count) => sum + count, 0);
    if (all === 0) return null;
    let left = Math.max(1, Math.ceil(all * share));
    let place = 0;
    for (; place < classes - 1 && left > this.#counts[place]!; place++) left -= this.#counts[place]!;
    return Math.round(Math.expm1(place * growth));
  }
}
