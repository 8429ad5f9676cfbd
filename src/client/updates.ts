import type { TaskUpdate } from '../requestor/pursuit.ts';

/** However slowly a host reads, it is told everything but progress that has been overtaken; and that has an end. */
const mostHeld = 1_000;

/** Updates on their way to one reader. */
export class UpdateQueue implements AsyncIterableIterator<TaskUpdate> {
  readonly #held: TaskUpdate[] = [];
  readonly #onReturn: () => void;
  readonly #waiting: PromiseWithResolvers<IteratorResult<TaskUpdate>>[] = [];
  #end: { readonly error?: unknown } | undefined;

  constructor(onReturn: () => void) {
    this.#onReturn = onReturn;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<TaskUpdate>> {
    const value = this.#held.shift();
    if (value) return { value, done: false };
    if (this.#end) {
      this.#onReturn();
      if ('error' in this.#end) throw this.#end.error;
      return { value: undefined, done: true };
    }
    const waiting = Promise.withResolvers<IteratorResult<TaskUpdate>>();
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  async return(): Promise<IteratorResult<TaskUpdate>> {
    this.end();
    this.#onReturn();
    return { value: undefined, done: true };
  }

  push(update: TaskUpdate): void {
    if (this.#end) return;
    const waiting = this.#waiting.shift();
    if (waiting) return waiting.resolve({ value: update, done: false });
    const last = this.#held.at(-1);
    if (update.type === 'progress' && last?.type === 'progress' && last.taskId === update.taskId)
      this.#held.pop();
    this.#held.push(update);
    if (this.#held.length > mostHeld) this.#held.shift();
  }

  end(): void {
    this.#finish({});
  }

  fail(error: unknown): void {
    this.#finish({ error });
  }

  #finish(end: { readonly error?: unknown }): void {
    if (this.#end) return;
    this.#end = end;
    for (const waiting of this.#waiting.splice(0))
      if ('error' in end) waiting.reject(end.error);
      else waiting.resolve({ value: undefined, done: true });
  }
}
