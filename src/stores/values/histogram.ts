/** Durations in classes that grow by a twentieth each: sums of many are merged, and a quantile is right to a few per cent. */
const growth = Math.log(1.05);

export class Histogram {
  readonly #classes = new Map<number, number>();
  #count = 0;

  add(ms: number, count = 1): void {
    this.#put(classOf(ms), count);
  }

  merge(other: Histogram): void {
    for (const [place, count] of other.#classes) this.#put(place, count);
  }

  /** Null if there is nothing. */
  quantile(share: number): number | null {
    if (this.#count === 0) return null;
    let left = Math.max(1, Math.ceil(this.#count * share));
    for (const place of [...this.#classes.keys()].sort((a, b) => a - b)) {
      left -= this.#classes.get(place)!;
      if (left <= 0) return Math.round(Math.expm1(place * growth));
    }
    return null;
  }

  #put(place: number, count: number): void {
    this.#classes.set(place, (this.#classes.get(place) ?? 0) + count);
    this.#count += count;
  }
}

/** Zero is in a class of its own. */
function classOf(ms: number): number {
  return Math.round(Math.log1p(Math.max(0, ms)) / growth);
}
