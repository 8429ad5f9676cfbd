import type { JsonObject } from '../model/json.ts';

/**
 * What was asked in one call, and answered, as far as the handler of its task has come. A replayed handler fills it
 * again from the journal, so that a question which an upstream repeats after a restart is not put to anyone twice.
 */
export class Conversation {
  readonly #answers = new Map<string, PromiseWithResolvers<JsonObject | undefined>>();

  /** False if the question is known already. */
  open(key: string): boolean {
    if (this.#answers.has(key)) return false;
    this.#answers.set(key, Promise.withResolvers());
    return true;
  }

  /** Undefined if nobody can or will answer. */
  answerTo(key: string): Promise<JsonObject | undefined> {
    this.open(key);
    return this.#answers.get(key)!.promise;
  }

  answer(key: string, given: JsonObject | undefined): void {
    this.open(key);
    this.#answers.get(key)!.resolve(given);
  }
}
