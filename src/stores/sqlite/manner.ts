/**
 * In which manner values are written: plain, or under which key. The seal of every transaction counts how often that
 * has changed, so that a process which has not heard of the last change commits nothing: it undoes what it wrote, looks
 * anew, and writes it again.
 */
import type { Connection } from './driver.ts';
import { WrittenInVain } from './group-commit.ts';
import { moveSealOn, readManner, type Sealed } from './seal.ts';

export class Manner {
  readonly #db: Connection;
  readonly #lookAnew: () => void;
  #known = 0;
  /** At first too: between opening the file and the first transaction it may have changed. */
  #isStale = true;
  #ownMoves = 0;

  /** `lookAnew` throws if this process cannot write in the manner that it finds. */
  constructor(db: Connection, lookAnew: () => void) {
    this.#db = db;
    this.#lookAnew = lookAnew;
  }

  begun(): void {
    this.#ownMoves = 0;
    if (!this.#isStale) return;
    this.#lookAnew();
    this.#known = readManner(this.#db);
    this.#isStale = false;
  }

  /** Every other process must look anew. Inside a transaction. */
  move(): void {
    moveSealOn(this.#db);
    this.#ownMoves++;
  }

  expect({ manner }: Sealed): void {
    if (manner === this.#known + this.#ownMoves) return;
    this.#isStale = true;
    throw new WrittenInVain();
  }

  committed(): void {
    if (this.#ownMoves > 0) this.#isStale = true;
  }
}
