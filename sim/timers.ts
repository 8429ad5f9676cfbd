/** The timers of one process: a heap by due time. Cleared timers are removed lazily. */
export interface Due {
  at: number;
  order: number;
  isSet: boolean;
}

interface Entry<T> {
  readonly timer: T;
  readonly at: number;
  readonly order: number;
}

export class Timers<T extends Due> {
  readonly #heap: Entry<T>[] = [];
  #orders = 0;

  /** The next timer to fire. */
  get first(): T | undefined {
    for (;;) {
      const top = this.#heap[0];
      if (!top) return undefined;
      if (top.timer.isSet && top.timer.order === top.order) return top.timer;
      this.#dropFirst();
    }
  }

  /** Sets or resets a timer. */
  set(timer: T, at: number): void {
    timer.at = at;
    timer.order = ++this.#orders;
    timer.isSet = true;
    const entry = { timer, at, order: timer.order };
    let place = this.#heap.push(entry) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (!isBefore(entry, this.#heap[above]!)) break;
      this.#heap[place] = this.#heap[above]!;
      place = above;
    }
    this.#heap[place] = entry;
  }

  clear(timer: T): void {
    timer.isSet = false;
  }

  clearAll(): void {
    for (const { timer } of this.#heap.splice(0)) timer.isSet = false;
  }

  #dropFirst(): void {
    const last = this.#heap.pop()!;
    if (this.#heap.length === 0) return;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= this.#heap.length) break;
      if (below + 1 < this.#heap.length && isBefore(this.#heap[below + 1]!, this.#heap[below]!)) below++;
      if (!isBefore(this.#heap[below]!, last)) break;
      this.#heap[place] = this.#heap[below]!;
      place = below;
    }
    this.#heap[place] = last;
  }
}

function isBefore(one: { at: number; order: number }, other: { at: number; order: number }): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
