/**
 * Whose call asks. On a connection of 2025-11-25 a question says at most which task it belongs to; of several plain
 * calls any could be the one. Where they are not all of one person, no further call begins until the others have ended
 * and only one is left, which then is the one that asks. People who are known are never asked in each other's place;
 * callers that nobody can tell apart share all they have. Of their calls the last is taken after a while, and questions
 * that wait at the same time are taken to come from different calls.
 */
import { anonymous } from '../hosting/caller.ts';
import { HoldfastError } from '../model/errors.ts';
import { runtime } from '../model/runtime.ts';
import type { Drive } from './drive.ts';

/** How long is waited for only one to be left: before the question is refused, or the last call is taken for it. */
const patienceMs = { known: 30_000, anonymous: 2_000 };

export class NotAttributed extends HoldfastError {
  constructor() {
    super('Several callers have calls under way there, and it is not known which of them is asked.');
  }
}

/** A question that waits to be attributed. */
interface Waiting {
  readonly look: () => void;
  /** The calls that other questions were attributed to while this one waited. */
  readonly taken: Set<Drive>;
}

export class Attribution {
  readonly #waiting = new Set<Waiting>();
  #settled: PromiseWithResolvers<void> | undefined;

  /** Resolves when no question waits to be attributed. */
  get settled(): Promise<void> | undefined {
    return this.#settled?.promise;
  }

  /** A call has ended. */
  look(): void {
    for (const { look } of this.#waiting) look();
  }

  /** The one of the candidates, the last to begin at the end, that asks. */
  async onlyOne(candidates: () => readonly Drive[]): Promise<Drive> {
    const { promise, resolve, reject } = Promise.withResolvers<Drive>();
    const look = () => {
      const [first, ...others] = candidates();
      if (!first) reject(new NotAttributed());
      else if (others.length === 0 || isOneKnown([first, ...others])) resolve(others.at(-1) ?? first);
    };
    const waiting: Waiting = { look, taken: new Set() };
    const timers = [
      runtime.setTimeout(() => reject(new NotAttributed()), patienceMs.known),
      runtime.setTimeout(() => {
        const left = candidates();
        const last = left.findLast((drive) => !waiting.taken.has(drive)) ?? left.at(-1);
        if (!last || left.some(({ owner }) => owner !== anonymous)) return;
        for (const { taken } of this.#waiting) taken.add(last);
        resolve(last);
      }, patienceMs.anonymous),
    ];
    this.#settled ??= Promise.withResolvers();
    this.#waiting.add(waiting);
    look();
    try {
      return await promise;
    } finally {
      for (const timer of timers) runtime.clearTimeout(timer);
      this.#waiting.delete(waiting);
      if (this.#waiting.size === 0) {
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
