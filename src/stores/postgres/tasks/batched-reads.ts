/** Look-ups that come at the same time share a statement. Under load few statements are under way, each for many. */
import { runtime } from '../../../runtime/runtime.ts';

const underWayAtOnce = 2;
const most = 500;

interface Question<Q, A> {
  readonly question: Q;
  readonly resolve: (answer: A) => void;
  readonly reject: (error: unknown) => void;
}

export class BatchedReads<Q, A> {
  readonly #ask: (questions: readonly Q[]) => Promise<readonly A[]>;
  #waiting: Question<Q, A>[] = [];
  #underWay = 0;
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
    if (this.#scheduled || this.#underWay >= underWayAtOnce || this.#waiting.length === 0) return;
    this.#scheduled = true;
    runtime.setImmediate(() => {
      this.#scheduled = false;
      const some = this.#waiting.splice(0, most);
      this.#underWay++;
      void this.#answer(some).finally(() => {
        this.#underWay--;
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
