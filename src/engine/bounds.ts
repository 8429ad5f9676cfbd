/** How far one task may spread: a handler in a loop must not fill the store. */
import { HoldfastError } from '../model/errors.ts';

export interface Bounds {
  /** How deep subtasks may start subtasks. */
  readonly deepestTree: number;
  /** Subtasks that one task may start in its life. */
  readonly mostSubtasks: number;
  /** Questions of one task that may be open at a time. */
  readonly mostOpenQuestions: number;
  /** Calls on `task` that one handler may have open at a time: steps, sleeps, subtasks it waits for, and so on. */
  readonly mostOpenCalls: number;
}

export const defaultBounds: Bounds = {
  deepestTree: 16,
  mostSubtasks: 10_000,
  mostOpenQuestions: 100,
  mostOpenCalls: 20_000,
};

/** The handler went too far; it may catch this and do without. */
export class OutOfBounds extends HoldfastError {
  constructor(what: string, bound: keyof Bounds, limit: number) {
    super(`${what}: at most ${limit} (${bound}).`);
  }
}

/** Counts what one pass does; a replayed pass counts the same. */
export class Spread {
  readonly #bounds: Bounds;
  readonly #depth: number;
  #subtasks = 0;
  #open = 0;

  constructor(bounds: Bounds, depth: number) {
    this.#bounds = bounds;
    this.#depth = depth;
  }

  start(): void {
    const { deepestTree, mostSubtasks } = this.#bounds;
    if (this.#depth >= deepestTree) throw new OutOfBounds('Subtasks go too deep', 'deepestTree', deepestTree);
    if (this.#subtasks >= mostSubtasks)
      throw new OutOfBounds('One task has too many subtasks', 'mostSubtasks', mostSubtasks);
    this.#subtasks++;
  }

  async asking<T>(ask: () => Promise<T>): Promise<T> {
    const { mostOpenQuestions } = this.#bounds;
    if (this.#open >= mostOpenQuestions)
      throw new OutOfBounds('Too many questions are open', 'mostOpenQuestions', mostOpenQuestions);
    this.#open++;
    try {
      return await ask();
    } finally {
      this.#open--;
    }
  }
}
