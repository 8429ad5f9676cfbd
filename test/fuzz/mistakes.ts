/** Mistakes of the program under fire, as it reported them or as nobody caught them. */
import { newMembers } from './prototypes.ts';

export class Mistakes {
  readonly #found: unknown[] = [];
  readonly #onRejection = (reason: unknown) => this.#found.push(reason);

  constructor() {
    process.on('unhandledRejection', this.#onRejection);
  }

  /** Refusals are plain errors or have a code; what JavaScript itself throws is a mistake. */
  notice(error: Error): void {
    const kinds = [TypeError, RangeError, ReferenceError, SyntaxError, EvalError, URIError];
    if (kinds.some((kind) => error instanceof kind)) this.#found.push(error);
  }

  /** Those that were found since this was last called, and what all objects have more than they had. */
  taken(): string[] {
    const where = (one: unknown) => (one instanceof Error ? one.stack?.split('\n', 2).join(' ') : one);
    return [
      ...this.#found.splice(0).map((one) => `a mistake in the program: ${where(one)}`),
      ...newMembers().map((member) => `there is a ${member}`),
    ];
  }

  stopListening(): void {
    process.off('unhandledRejection', this.#onRejection);
  }
}
