/**
 * Whose call asks. On a connection of 2025-11-25 a question says at most which task it belongs to; of several plain
 * calls any could be the one. Where they are not all of one person, no further call begins until the others have ended
 * and only one is left, which then is the one that asks. People who are known are never asked in each other's place;
 * callers that nobody can tell apart share all they have, and of their calls the last is taken after a while.
 */
import { anonymous } from '../hosting/caller.ts';
import { HoldfastError } from '../model/errors.ts';
import type { Drive } from './drive.ts';

/** How long is waited for only one to be left: before the question is refused, or the last call is taken for it. */
const patienceMs = { known: 30_000, anonymous: 2_000 };

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

  /** The one of the candidates, the last to begin at the end, that asks. */
  async onlyOne(candidates: () => readonly Drive[]): Promise<Drive> {
    const { promise, resolve, reject } = Promise.withResolvers<Drive>();
    const look = () => {
      const [first, ...others] = candidates();
      if (!first) reject(new NotAttributed());
      else if (others.length === 0 || isOneKnown([first, ...others])) resolve(others.at(-1) ?? first);
    };
    const timers = [
      setTimeout(() => reject(new NotAttributed()), patienceMs.known),
      setTimeout(() => {
        const left = candidates();
        if (left.every(({ owner }) => owner === anonymous) && left.length > 0) resolve(left.at(-1)!);
      }, patienceMs.anonymous),
    ];
    this.#settled ??= Promise.withResolvers();
    this.#looking.add(look);
    look();
    try {
      return await promise;
    } finally {
      for (const timer of timers) clearTimeout(timer);
      this.#looking.delete(look);
      if (this.#looking.size === 0) {
        this.#settled?.resolve();
        this.#settled = undefined;
      }
    }
  }
}

/** Of one person's calls the last is as good as any: the same person is asked. */
function isOneKnown(candidates: readonly Drive[]): boolean {
  const [owner, ...others] = new Set(candidates.map((drive) => drive.owner));
  return others.length === 0 && owner !== anonymous;
}
