/** Chance that can be repeated: the same seed draws the same numbers (mulberry32). */
export type Random = ReturnType<typeof seededRandom>;

export function seededRandom(seed: number) {
  let state = seed >>> 0;
  /** At least 0 and less than 1. */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  /** A whole number from 0 to `bound - 1`. */
  const below = (bound: number): number => Math.floor(next() * bound);
  const oneOf = <const T>(choices: readonly T[]): T => choices[below(choices.length)]!;
  return {
    next,
    below,
    oneOf,
    /** A whole number from `low` to `high`, both included. */
    between: (low: number, high: number): number => low + below(high - low + 1),
    chance: (probability: number): boolean => next() < probability,
    /** One of the names, each as likely as its weight says. */
    weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
      const names = Object.keys(weights) as K[];
      return oneOf(names.flatMap((name) => Array<K>(weights[name]).fill(name)));
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
  const seed = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`HOLDFAST_SEED=${seed} repeats the random choices of this run.`);
  return seed;
}
