/** A deterministic stream of random numbers (sfc32), and choices made with it. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  constructor(seed: number, stream = 0) {
    this.#a = seed >>> 0;
    this.#b = Math.imul(stream + 1, 0x9e3779b1) >>> 0;
    this.#c = Math.floor(seed / 2 ** 32) >>> 0;
    for (let i = 0; i < 15; i++) this.next();
  }

  /** An unsigned 32-bit integer. */
  next(): number {
    const sum = (((this.#a + this.#b) >>> 0) + this.#count++) >>> 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) >>> 0;
    return sum;
  }

  /** At least 0 and less than 1. */
  fraction(): number {
    return this.next() / 2 ** 32;
  }

  /** A whole number from `min` to `max`. */
  between(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  /** True with this probability. */
  chance(share: number): boolean {
    return this.fraction() < share;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.between(0, from.length - 1)]!;
  }

  /** One of several, with probabilities by weight. */
  weighted<T extends string>(weights: Readonly<Record<T, number>>): T {
    const entries = Object.entries(weights) as [T, number][];
    let left = this.fraction() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    return entries.at(-1)![0];
  }

  bytes(count: number): Buffer<ArrayBuffer> {
    const bytes = Buffer.alloc(count);
    for (let i = 0; i < count; i++) bytes[i] = this.next() & 255;
    return bytes;
  }
}
