/**
 * How many tasks there are, of an owner and in all: one more than there may be is refused. They are counted in the
 * store, and from one count to the next a process lets in no more than a small part of what was left, so that several
 * processes which count at the same time do not together let in more than there is room for. Near a limit that is one:
 * then every task is counted anew, once those before it are in the store.
 */
import type { Requests } from '../engine/requests.ts';
import { runtime } from '../model/runtime.ts';
import type { Owner } from '../model/task.ts';
import { OverLimit } from '../protocol/errors.ts';
import type { Limits } from './limits.ts';

/** How long a count is believed. */
const countedForMs = 30_000;
/** … and one of all tasks that found hardly a place: those who are refused must not have everything counted each time. */
const fullForMs = 5_000;
/** No more than a thousandth of the time goes into counting all tasks, however many there are … */
const believedPerMs = 1_000;
/** … or a tenth, when hardly a place is left; so few are counted as often as need be. */
const restPerMs = 10;
const quicklyCounted = 10_000;

/** One process lets in this part of what is left, at least one: so many processes may count at the same time. */
const share = 1 / 32;

/** Owners that have more than this part of what there may be in all do not get at its last tenth. */
const modestPart = 1 / 1_000;
const unreserved = 0.9;

/** How many there may be. */
interface Room {
  readonly live: number;
  readonly kept: number;
}

interface Counted extends Room {
  readonly at: number;
  /** How long it took to count them. */
  readonly tookMs: number;
  /** How many this process may let in until it counts again. */
  readonly share: number;
  /** How many it has let in. */
  since: number;
}

const names = {
  live: { own: 'liveTasksPerOwner', all: 'liveTasks' },
  kept: { own: 'keptTasksPerOwner', all: 'keptTasks' },
} as const;

export class Places {
  /** For one owner, and in all. */
  readonly #own: Room;
  readonly #all: Room;
  readonly #isEndless: boolean;
  /** By owner; under undefined, in all. */
  readonly #counted = new Map<Owner | undefined, Counted>();
  readonly #counting = new Map<Owner | undefined, Promise<void>>();
  /** Tasks that have a place, and are on their way into the store. */
  readonly #making = new Map<Owner | undefined, Set<Promise<void>>>();

  constructor(limits: Limits) {
    this.#own = { live: limits.liveTasksPerOwner, kept: limits.keptTasksPerOwner };
    this.#all = { live: limits.liveTasks, kept: limits.keptTasks };
    const numbers = [...Object.values(this.#own), ...Object.values(this.#all)];
    this.#isEndless = !numbers.some(Number.isFinite);
  }

  /** Makes a task of this owner, if there is a place for it. */
  async take<T>(requests: Requests, owner: Owner, make: () => Promise<T>): Promise<T> {
    if (this.#isEndless) return make();
    for (let isCounted = false; ; ) {
      const own = this.#counted.get(owner);
      const all = this.#counted.get(undefined);
      // What seems to be too much is counted again before anybody is refused.
      if (own && isCounted) this.#expectOwnRoom(own);
      if (!own || !this.#isBelieved(own, requests.now)) {
        await this.#countOwn(requests, owner);
        isCounted = true;
      } else if (!all || requests.now >= this.#believedUntil(all)) {
        await this.#count(requests, undefined, this.#all);
      } else {
        this.#expectRoomInAll(own, all, requests.now);
        // At once: whoever runs next must see that the place is taken.
        if (all.since < all.share) return this.#make(owner, [own, all], make);
        const isQuick = all.live + all.kept < quicklyCounted;
        const restMs = isQuick ? 0 : all.at + all.tookMs * restPerMs - requests.now;
        if (restMs > 0 && all.share === 1) throw full(this.#scarcest(all), this.#all, restMs);
        await this.#count(requests, undefined, this.#all);
      }
    }
  }

  #make<T>(owner: Owner, counts: readonly Counted[], make: () => Promise<T>): Promise<T> {
    for (const counted of counts) counted.since++;
    const making = make();
    for (const whose of [owner, undefined]) this.#await(whose, making);
    return making;
  }

  /** A count of an owner's tasks. */
  #isBelieved(own: Counted, now: number): boolean {
    return now - own.at <= countedForMs && own.since < own.share && this.#fullOf(own) === undefined;
  }

  #expectOwnRoom(own: Counted): void {
    const what = this.#fullOf(own);
    if (what) throw ownersFull(what, this.#own[what]);
  }

  #fullOf(own: Counted): 'live' | 'kept' | undefined {
    return kinds.find((what) => own[what] + own.since >= this.#own[what]);
  }

  #expectRoomInAll(own: Counted, all: Counted, now: number): void {
    for (const what of kinds) {
      const most = this.#all[what];
      const room = own[what] + own.since > most * modestPart ? most * unreserved : most;
      if (all[what] + all.since >= room)
        throw full(what, this.#all, Math.max(1_000, this.#believedUntil(all) - now));
    }
  }

  #scarcest({ live, kept }: Room): 'live' | 'kept' {
    return this.#all.live - live < this.#all.kept - kept ? 'live' : 'kept';
  }

  #countOwn(requests: Requests, owner: Owner): Promise<void> {
    const { live, kept } = this.#own;
    // Of an owner that may have any number, no more has to be known than whether it is modest.
    const enough = (own: number, all: number) =>
      Number.isFinite(own) ? own : Math.ceil(all * modestPart) + 1;
    return this.#count(requests, owner, {
      live: enough(live, this.#all.live),
      kept: enough(kept, this.#all.kept),
    });
  }

  /** A count of all tasks. */
  #believedUntil({ live, kept, at, tookMs }: Counted): number {
    const isNearlyFull = live >= this.#all.live * unreserved || kept >= this.#all.kept * unreserved;
    return at + Math.max(isNearlyFull ? fullForMs : countedForMs, tookMs * believedPerMs);
  }

  /** What is being made is not yet in the store, and would not be counted. */
  #await(whose: Owner | undefined, making: Promise<unknown>): void {
    const some = this.#making.get(whose) ?? new Set();
    this.#making.set(whose, some);
    const over = making.then(ignore, ignore).then(() => {
      some.delete(over);
      if (some.size === 0 && this.#making.get(whose) === some) this.#making.delete(whose);
    });
    some.add(over);
  }

  /** Calls that come at once wait for one count, so that each sees those before it. */
  #count(requests: Requests, owner: Owner | undefined, upTo: Room): Promise<void> {
    const known = this.#counting.get(owner);
    if (known) return known;
    const counting = this.#countNow(requests, owner, upTo).finally(() => this.#counting.delete(owner));
    this.#counting.set(owner, counting);
    return counting;
  }

  async #countNow(requests: Requests, owner: Owner | undefined, upTo: Room): Promise<void> {
    await Promise.all(this.#making.get(owner) ?? []);
    const count = (what: 'live' | 'kept') =>
      Number.isFinite(upTo[what]) ? requests.count(owner, what, upTo[what]) : 0;
    const at = requests.now;
    const from = runtime.monotonic();
    const [live, kept] = [await count('live'), await count('kept')];
    const tookMs = runtime.monotonic() - from;
    const most = owner === undefined ? this.#all : this.#own;
    const left = Math.min(most.live - live, most.kept - kept);
    // Owners that are not heard of any more need not be remembered.
    if (this.#counted.size > 10_000) this.#counted.clear();
    this.#counted.set(owner, {
      live,
      kept,
      at,
      tookMs,
      share: Math.max(1, Math.floor(left * share)),
      since: 0,
    });
  }
}

const kinds = ['live', 'kept'] as const;

function ignore(): void {}

function ownersFull(what: 'live' | 'kept', most: number): OverLimit {
  const message =
    what === 'live'
      ? `No more than ${most} tasks at a time: wait until some are over, or cancel them.`
      : `No more than ${most} tasks are kept: wait until some have expired.`;
  return new OverLimit(names[what].own, message);
}

/** It is not the caller's to make room: all that it can do is come back. */
function full(what: 'live' | 'kept', { [what]: most }: Room, countedAgainInMs: number): OverLimit {
  const they = what === 'live' ? 'tasks at a time' : 'tasks are kept';
  return new OverLimit(
    names[what].all,
    `No more than ${most} ${they} on this server, and what is left is for callers who have hardly any: try again later.`,
    countedAgainInMs,
  );
}
