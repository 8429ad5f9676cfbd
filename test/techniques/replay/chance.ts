/** Chance that can be repeated: the same parts hash to the same number, and a seed is the first part. */

/** A whole number below 2^32 that depends on all parts and on nothing else. */
export function hash(...parts: readonly (string | number)[]): number {
  let state = 0x811c9dc5;
  for (const character of parts.join('\u0000'))
    state = Math.imul(state ^ character.codePointAt(0)!, 0x01000193);
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}

export class Chance {
  readonly #seed: string;
  #drawn = 0;

  constructor(...seed: readonly (string | number)[]) {
    this.#seed = seed.join('/');
  }

  /** A whole number from 0 to `bound - 1`. */
  below(bound: number): number {
    return hash(this.#seed, this.#drawn++) % bound;
  }

  of(probability: number): boolean {
    return this.below(2 ** 32) < probability * 2 ** 32;
  }

  oneOf<const T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }

  /** One of the names, each as likely as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let rest = this.below(entries.reduce((sum, [, weight]) => sum + weight, 0));
    const chosen = entries.find(([, weight]) => {
      rest -= weight;
      return rest < 0;
    });
    return chosen![0];
  }
}
