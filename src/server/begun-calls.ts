/** Calls that the short way has begun and the long way goes on with. */
import type { Headed } from './tool-call.ts';

const begunWith = new WeakMap<object, BegunCall>();

export class BegunCall {
  readonly #headed: Headed;
  #isTaken = false;

  constructor(headed: Headed) {
    this.#headed = headed;
  }

  /** Goes on with a request of the web; if nobody takes the call up there, it is given up. */
  async goOn<T>(request: Request, answer: () => Promise<T>): Promise<T> {
    begunWith.set(request, this);
    try {
      return await answer();
    } finally {
      if (!this.#isTaken && 'abandon' in this.#headed) this.#headed.abandon();
    }
  }

  static taken(request: object | undefined): Headed | undefined {
    const begun = request && begunWith.get(request);
    if (!begun || begun.#isTaken) return undefined;
    begun.#isTaken = true;
    return begun.#headed;
  }
}
