/** Tells of what repeats itself once in a while, and then how often it was. */
export class Calm<Key> {
  readonly #everyMs: number;
  readonly #told = new Map<Key, { at: number; unheard: number }>();

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** How often it happened since it was last told of; undefined if it is too early to tell of it again. */
  count(key: Key, at: number): number | undefined {
    const told = this.#told.get(key);
    if (told && at - told.at < this.#everyMs) {
      told.unheard++;
      return undefined;
    }
    if (this.#told.size >= mostKeys) this.#told.clear();
    this.#told.set(key, { at, unheard: 0 });
    return 1 + (told?.unheard ?? 0);
  }
}

const mostKeys = 10_000;
