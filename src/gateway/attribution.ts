/**
 * Whose call asks. On a connection of 2025-11-25 a question says at most which task it belongs to; of several plain
 * calls any could be the one. A question must never be shown to a stranger, so where they are of more than one person
 * no further call begins until the others have ended and only one is left, which then is the one that asks.
 */
import { anonymous } from '../hosting/caller.ts';
import { HoldfastError } from '../model/errors.ts';
import type { Drive } from './drive.ts';

/** How long it is waited for before the question is refused. */
const patienceMs = 30_000;

export class NotAttributed extends HoldfastError {
  constructor() {
    super('Several callers have calls under way there, and it is not known which of them is asked.');
  }
}

export class Attribution {
  readonly #looking = new Set<() => void>();
  #settled: PromiseWithResolvers<void> | undefined;

  /** Resolves when no question waits to be attributed. */
  get settled(): Promise<void> | undefined {
    return this.#settled?.promise;
  }

  /** A call has ended. */
  look(): void {
    for (const look of this.#looking) look();
  }

  async onlyOne(candidates: () => readonly Drive[]): Promise<Drive> {
    const certain = oneOf(candidates());
    if (certain) return certain;
    this.#settled ??= Promise.withResolvers();
    const { promise, resolve, reject } = Promise.withResolvers<Drive>();
    const timer = setTimeout(() => reject(new NotAttributed()), patienceMs);
    const look = () => {
      const one = oneOf(candidates());
      if (one) resolve(one);
      else if (candidates().length === 0) reject(new NotAttributed());
    };
    this.#looking.add(look);
    look();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#looking.delete(look);
      if (this.#looking.size === 0) {
        this.#settled?.resolve();
        this.#settled = undefined;
      }
    }
  }
}

/** Of one person's calls the last is as good as any: the same person is asked. */
function oneOf(candidates: readonly Drive[]): Drive | undefined {
  if (candidates.length <= 1) return candidates[0];
  const [owner, ...others] = new Set(candidates.map((drive) => drive.owner));
  return others.length === 0 && owner !== anonymous ? candidates.at(-1) : undefined;
}
