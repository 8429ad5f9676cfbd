/** Concurrent look-ups share a statement. Under load, few statements are in flight and each answers many look-ups. */
import { runtime } from '../../../runtime/runtime.ts';

const maxInFlight = 2;
const maxBatch = 500;

interface Question<Q, A> {
  readonly question: Q;
  readonly resolve: (answer: A) => void;
  readonly reject: (error: unknown) => void;
}

export class BatchedReads<Q, A> {
  readonly #ask: (questions: readonly Q[]) => Promise<readonly A[]>;
  #waiting: Question<Q, A>[] = [];
  #inFlight = 0;
  #scheduled = false;

  /** `ask` gives the answers in the order of the questions. */
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

  async #answer(some: readonly Question<Q, A>[]): Promise<void> {
    try {
      const answers = await this.#ask(some.map(({ question }) => question));
      for (const [index, { resolve }] of some.entries()) resolve(answers[index]!);
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  }
}
