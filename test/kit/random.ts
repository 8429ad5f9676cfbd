/** Chance that can be repeated: the same seed draws the same numbers (mulberry32). */
export interface Random {
  /** At least 0 and less than 1. */
  next(): number;
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  /** A whole number from 0 to `bound - 1`. */
  below(bound: number): number;
  oneOf<const T>(choices: readonly T[]): T;
  chance(probability: number): boolean;
  /** One of the names, each as likely as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K;
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (bound: number) => Math.floor(next() * bound);
  const oneOf = <T>(choices: readonly T[]) => choices[below(choices.length)]!;
  return {
    next,
    between: (low, high) => low + below(high - low + 1),
    below,
    oneOf,
    chance: (probability) => next() < probability,
    weighted(weights) {
      const names = Object.keys(weights) as (keyof typeof weights)[];
      return oneOf(names.flatMap((name) => Array<typeof name>(weights[name]).fill(name)));
    },
  };
}

/** A whole number below 2^32 that depends on all parts and on nothing else. */
export function hash(...parts: readonly (string | number)[]): number {
  let state = 0x811c9dc5;
  for (const character of parts.join('\u0000'))
    state = Math.imul(state ^ character.codePointAt(0)!, 0x01000193);
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}

/** The first seed of this run: `HOLDFAST_SEED` repeats an earlier one. */
export function seedOfThisRun(): number {
  return Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
}
