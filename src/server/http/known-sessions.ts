/** The sessions of each owner that this process knows, in memory or only by their rows, the longest unused first. */

import { runtime } from '../../model/runtime.ts';
import type { Owner } from '../../model/task.ts';

interface Known {
  seenAt: number;
  /** Is one of its requests being answered? */
  isInUse: () => boolean;
}

const isNotInUse = () => false;

export class KnownSessions {
  readonly #byOwner = new Map<Owner, Map<string, Known>>();

  /** The session was opened, or is used again. */
  used(owner: Owner, id: string, isInUse: () => boolean, seenAt = runtime.now()): void {
    const own = this.#byOwner.get(owner) ?? new Map<string, Known>();
    this.#byOwner.set(owner, own);
    own.delete(id);
    own.set(id, { seenAt, isInUse });
  }

  /** It has left the memory of this process. */
  left(owner: Owner, id: string): void {
    const known = this.#byOwner.get(owner)?.get(id);
    if (known) known.isInUse = isNotInUse;
  }

  /** It is over. */
  ended(owner: Owner, id: string): void {
    const own = this.#byOwner.get(owner);
    own?.delete(id);
    if (own?.size === 0) this.#byOwner.delete(owner);
  }

  countOf(owner: Owner): number {
    return this.#byOwner.get(owner)?.size ?? 0;
  }

  /** Undefined if every session of the owner is in use. */
  longestUnused(owner: Owner): string | undefined {
    for (const [id, { isInUse }] of this.#byOwner.get(owner) ?? []) if (!isInUse()) return id;
    return undefined;
  }

  /** Those that were not used since then are no longer counted. */
  forget(seenBefore: number): void {
    for (const [owner, own] of this.#byOwner)
      for (const [id, { seenAt, isInUse }] of own)
        if (seenAt < seenBefore && !isInUse()) this.ended(owner, id);
  }
}
