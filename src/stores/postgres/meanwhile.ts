/**
 * Numbers of commits that looks have found while transactions of this process were under way: one of them may be its own,
 * told before its end was heard. They are remembered for as long as a transaction is that was under way then. Where some
 * always are, everything is forgotten in two generations all the same: each waits for those that began before it ended.
 */
export class Meanwhile {
  #recent = new Set<number>();
  #older = new Set<number>();
  #recentlyBegun = 0;
  #begunEarlier = 0;
  #generation = 0;

  /** How many are remembered. */
  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  /** A transaction is under way. Returns how to say that it has ended. */
  begin(): () => void {
    const generation = this.#generation;
    this.#recentlyBegun++;
    return () => {
      if (generation === this.#generation) this.#recentlyBegun--;
      else this.#begunEarlier--;
      if (this.#begunEarlier === 0) this.#forgetOlder();
    };
  }

  add(seq: number): void {
    if (this.#recentlyBegun + this.#begunEarlier > 0) this.#recent.add(seq);
  }

  /** Whether it was found; after that it need not be remembered. */
  delete(seq: number): boolean {
    return this.#recent.delete(seq) || this.#older.delete(seq);
  }

  #forgetOlder(): void {
    [this.#older, this.#recent] = [this.#recent, new Set()];
    [this.#begunEarlier, this.#recentlyBegun] = [this.#recentlyBegun, 0];
    this.#generation++;
    if (this.#begunEarlier === 0) this.#older.clear();
  }
}
