/**
 * How many tasks there are, of an owner and in all: one more than there may be is refused. They are counted in the
 * store, now and then, and in between by what this process lets in; several processes may let in a few more.
 */
import type { Requests } from '../engine/requests.ts';
import type { Owner } from '../model/task.ts';
import { OverLimit } from '../protocol/errors.ts';
import type { Limits } from './limits.ts';

/** How long a count is believed. */
const countedForMs = 30_000;
/** … and one of all tasks that found hardly a place: those who are refused must not have everything counted each time. */
const fullForMs = 5_000;
/** No more than a thousandth of the time goes into counting all tasks, however many there are. */
const believedPerMs = 1_000;

/** Owners that have more than this part of what there may be in all do not get at its last tenth. */
const modestPart = 1 / 1_000;
const unreserved = 0.9;

/** How many there may be. */
interface Room {
  readonly live: number;
  readonly kept: number;
}

interface Counted {
  live: number;
  kept: number;
  readonly at: number;
  /** How long it took to count them. */
  readonly tookMs: number;
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
  /** Calls that come at once wait for one count, so that each sees those before it. */
  readonly #counting = new Map<Owner | undefined, Promise<Counted>>();

  constructor(limits: Limits) {
    this.#own = { live: limits.liveTasksPerOwner, kept: limits.keptTasksPerOwner };
    this.#all = { live: limits.liveTasks, kept: limits.keptTasks };
    const numbers = [...Object.values(this.#own), ...Object.values(this.#all)];
    this.#isEndless = !numbers.some(Number.isFinite);
  }

  /** Takes a place for a task of this owner, or throws. */
  async take(requests: Requests, owner: Owner): Promise<void> {
    if (this.#isEndless) return;
    const own = await this.#ownCount(requests, owner);
    const all = await this.#countOfAll(requests);
    for (const what of ['live', 'kept'] as const) {
      if (own[what] >= this.#own[what]) throw ownersFull(what, this.#own[what]);
      const most = this.#all[what];
      const room = own[what] > most * modestPart ? most * unreserved : most;
      if (all[what] >= room) throw full(what, most, Math.max(1_000, this.#believedUntil(all) - requests.now));
    }
    for (const counted of [own, all]) {
      counted.live++;
      counted.kept++;
    }
  }

  async #ownCount(requests: Requests, owner: Owner): Promise<Counted> {
    const { live, kept } = this.#own;
    const known = this.#counted.get(owner);
    // What seems to be too much is counted again before anybody is refused.
    if (known && known.live < live && known.kept < kept && requests.now - known.at <= countedForMs)
      return known;
    // Of an owner that may have any number, no more has to be known than whether it is modest.
    const enough = (own: number, all: number) =>
      Number.isFinite(own) ? own : Math.ceil(all * modestPart) + 1;
    return this.#count(requests, owner, {
      live: enough(live, this.#all.live),
      kept: enough(kept, this.#all.kept),
    });
  }

  async #countOfAll(requests: Requests): Promise<Counted> {
    const known = this.#counted.get(undefined);
    if (known && requests.now < this.#believedUntil(known)) return known;
    return this.#count(requests, undefined, this.#all);
  }

  /** A count of all tasks. */
  #believedUntil({ live, kept, at, tookMs }: Counted): number {
    const isNearlyFull = live >= this.#all.live * unreserved || kept >= this.#all.kept * unreserved;
    return at + Math.max(isNearlyFull ? fullForMs : countedForMs, tookMs * believedPerMs);
  }

  #count(requests: Requests, owner: Owner | undefined, upTo: Room): Promise<Counted> {
    const known = this.#counting.get(owner);
    if (known) return known;
    const counting = this.#countNow(requests, owner, upTo).finally(() => this.#counting.delete(owner));
    this.#counting.set(owner, counting);
    return counting;
  }

  async #countNow(requests: Requests, owner: Owner | undefined, upTo: Room): Promise<Counted> {
    const count = (what: 'live' | 'kept') =>
      Number.isFinite(upTo[what]) ? requests.count(owner, what, upTo[what]) : 0;
    const from = performance.now();
    const [live, kept] = [await count('live'), await count('kept')];
    const counted = { live, kept, at: requests.now, tookMs: performance.now() - from };
    // Owners that are not heard of any more need not be remembered.
    if (this.#counted.size > 10_000) this.#counted.clear();
    this.#counted.set(owner, counted);
    return counted;
  }
}

function ownersFull(what: 'live' | 'kept', most: number): OverLimit {
  const message =
    what === 'live'
      ? `No more than ${most} tasks at a time: wait until some are over, or cancel them.`
      : `No more than ${most} tasks are kept: wait until some have expired.`;
  return new OverLimit(names[what].own, message);
}

/** It is not the caller's to make room: all that it can do is come back. */
function full(what: 'live' | 'kept', most: number, countedAgainInMs: number): OverLimit {
  const they = what === 'live' ? 'tasks at a time' : 'tasks are kept';
  return new OverLimit(
    names[what].all,
    `No more than ${most} ${they} on this server, and what is left is for callers who have hardly any: try again later.`,
    countedAgainInMs,
  );
}
