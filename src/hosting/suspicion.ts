/**
 * What honest callers do not do: look for tasks that they cannot know, again and again, or poll as if no hint had been
 * given. Both are told to whoever watches, and slowed down.
 */
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Suspicion } from '../engine/observer.ts';
import { pollHintMs, type Task, type TaskId } from '../model/task.ts';
import { OverLimit } from '../protocol/errors.ts';
import { anonymous, type Caller } from './caller.ts';

type Report = (suspicion: Suspicion) => void;

const minuteMs = 60_000;

/**
 * Looks that found nothing. Neither what is counted nor what is answered depends on whether there is such a task: it is
 * called for a task of another as for none. What an owner does find is never refused here.
 */
export class Misses {
  readonly #most: number;
  readonly #report: Report;
  readonly #counts: RateLimiterMemory;

  constructor(most: number, report: Report) {
    this.#most = most;
    this.#report = report;
    this.#counts = new RateLimiterMemory({ points: most, duration: minuteMs / 1_000 });
  }

  /** Throws if there were too many before. */
  async add({ owner, address: askAddress }: Pick<Caller, 'owner' | 'address'>, now: number): Promise<void> {
    // Callers without a token are one owner: where they come from is all that tells them apart.
    const address = owner === anonymous ? askAddress?.() : undefined;
    const key = JSON.stringify([owner, address]);
    const { consumedPoints: count, msBeforeNext } = await this.#counts.penalty(key);
    if (count === this.#most)
      this.#report({
        pattern: 'failedLooks',
        owner,
        count,
        at: now,
        ...(address !== undefined && { address }),
      });
    if (count > this.#most)
      throw new OverLimit(
        'failedLooksPerMinute',
        `No more than ${this.#most} looks a minute at tasks that cannot be found.`,
        msBeforeNext,
      );
  }
}

/** So many looks at a task in a minute are nobody's business, however seldom its hint asks for them. */
const unremarkable = 600;
/** Tasks whose looks are counted at a time. */
const mostTasks = 10_000;

interface Seen {
  looks: number;
  since: number;
  /** Once there are too many looks: before then none is answered. */
  notBefore?: number;
}

/**
 * How often each task is looked at. Only its own callers are counted: others never get so far. Whoever is too eager is
 * answered in the rhythm of the hint until the minute is over, so that nobody is locked out.
 */
export class Eagerness {
  readonly #timesHint: number;
  readonly #report: Report;
  readonly #seen = new Map<TaskId, Seen>();

  constructor(timesHint: number, report: Report) {
    this.#timesHint = timesHint;
    this.#report = report;
  }

  /** Throws if it is looked at far too often. Polls come this way: below what is remarkable it is one look into a map. */
  add(task: Task, clock: { readonly now: number }): void {
    const seen = this.#seen.get(task.id);
    if (!seen) this.#begin(task.id, clock.now);
    else if (++seen.looks > unremarkable) this.#judge(seen, task, clock.now);
  }

  #begin(id: TaskId, since: number): void {
    // Those that are not looked at any more need not be remembered.
    if (this.#seen.size >= mostTasks) this.#seen.clear();
    this.#seen.set(id, { looks: 1, since });
  }

  #judge(seen: Seen, task: Task, now: number): void {
    if (now - seen.since >= minuteMs) return this.#begin(task.id, now);
    const hintMs = pollHintMs(task, now);
    if (seen.looks <= Math.max(unremarkable, (this.#timesHint * minuteMs) / hintMs)) return;
    if (seen.notBefore === undefined)
      this.#report({
        pattern: 'eagerPolls',
        owner: task.owner,
        task: task.id,
        count: seen.looks,
        at: now,
      });
    else if (now < seen.notBefore)
      throw new OverLimit(
        'pollsPerHint',
        `This task is looked at more than ${this.#timesHint} times as often as asked: once in ${hintMs} ms is enough.`,
        seen.notBefore - now,
      );
    seen.notBefore = now + hintMs;
  }
}
