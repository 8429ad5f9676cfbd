/**
 * Concurrent look-ups share a statement. At most `maxInFlight` statements are in flight, so under load each answers
 * many look-ups.
 */
import { runtime } from '../../../runtime/runtime.ts';

const maxInFlight = 2;
/** The maximum number of look-ups in one statement. */
const maxBatch = 500;

/** A look-up (not a question of a task). */
interface Question<Q, A> {
  readonly question: Q;
  readonly resolve: (answer: A) => void;
  readonly reject: (error: unknown) => void;
}

export class BatchedReads<Q, A> {
  readonly #ask: (questions: readonly Q[]) => Promise<readonly A[]>;
  #waiting: Question<Q, A>[] = [];
  #inFlight = 0;
  /** Whether a batch will start as soon as the current event has been handled. */
  #scheduled = false;

  /** `ask` must return one answer for each question, in the same order. */
  constructor(ask: (questions: readonly Q[]) => Promise<readonly A[]>) {
    this.#ask = ask;
  }

  get(question: Q): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ question, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= maxInFlight || this.#waiting.length === 0) return;
    this.#scheduled = true;
    runtime.setImmediate(() => {
      this.#scheduled = false;
      const some = this.#waiting.splice(0, maxBatch);
      this.#inFlight++;
      void this.#answer(some).finally(() => {
        this.#inFlight--;
        this.#schedule();
      });
      this.#schedule();
    });
  }

  /** If the statement fails, all its look-ups are rejected. */
  async #answer(some: readonly Question<Q, A>[]): Promise<void> {
    try {
      const answers = await this.#ask(some.map(({ question }) => question));
      for (const [index, { resolve }] of some.entries()) resolve(answers[index]!);
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  }
}
