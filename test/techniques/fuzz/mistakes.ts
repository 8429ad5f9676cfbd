/** Mistakes of the program under fire, as it reported them or as nobody caught them. */

const shared = { Object, Array, Function, String, Number, Boolean, Error, Promise, Map };

function members(): string[] {
  return Object.entries(shared).flatMap(([name, { prototype }]) =>
    Reflect.ownKeys(prototype).map((key) => `${name}.prototype.${String(key)}`),
  );
}

const atFirst = new Set(members());

/** What a message has added to what all objects share. */
export function newMembers(): string[] {
  return members().filter((member) => !atFirst.has(member));
}

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
