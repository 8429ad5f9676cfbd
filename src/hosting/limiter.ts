/** Holds callers to the limits, so that nobody takes another's service away; tells whoever watches of each refusal. */
import type { AuditRecorder } from '../engine/audit-log.ts';
import { type Observer, quietly, type Suspicion } from '../engine/observer.ts';
import type { Requests } from '../engine/requests.ts';
import type { Owner, Task } from '../model/task.ts';
import { OverLimit } from '../protocol/errors.ts';
import type { Caller } from './caller.ts';
import type { Limits } from './limits.ts';
import { Places } from './places.ts';
import { type Rate, ratesOf, type Spending } from './rates.ts';
import { noteLimited } from './recording.ts';
import { Eagerness, Misses } from './suspicion.ts';

/** How soon a place may be free that others hold. */
const comeBackMs = 5_000;

export class Limiter {
  readonly limits: Limits;
  readonly #observer: Pick<Observer, 'refused' | 'suspicious'>;
  readonly #recorder: AuditRecorder | undefined;
  readonly #rates: ReadonlyMap<Spending, Rate>;
  readonly #places: Places;
  readonly #misses: Misses | undefined;
  readonly #eagerness: Eagerness | undefined;
  readonly #subscriptions = new Map<Owner, number>();
  #subscriptionsInAll = 0;

  constructor(limits: Limits, observer: Pick<Observer, 'refused' | 'suspicious'>, recorder?: AuditRecorder) {
    this.limits = limits;
    this.#recorder = recorder;
    this.#observer = observer;
    this.#rates = ratesOf(limits);
    this.#places = new Places(limits);
    const { failedLooksPerMinute, pollsPerHint } = limits;
    const report = (suspicion: Suspicion) => quietly(() => observer.suspicious(suspicion));
    if (Number.isFinite(failedLooksPerMinute)) this.#misses = new Misses(failedLooksPerMinute, report);
    if (Number.isFinite(pollsPerHint)) this.#eagerness = new Eagerness(pollsPerHint, report);
  }

  /** Refuses what is more than the owner's share of a minute. Undefined if there is nothing to wait for. */
  spend(owner: Owner, kind: Spending): Promise<void> | undefined {
    return this.#rates.get(kind)?.spend(owner)?.catch(this.#refusing(owner));
  }

  /** Makes a task; refuses one more than an owner may have, or than there may be. */
  makeTask<T>(requests: Requests, owner: Owner, make: () => Promise<T>): Promise<T> {
    return this.#places.take(requests, owner, make).catch(this.#refusing(owner));
  }

  /** The caller asked for a task that it cannot see. Refuses it to ask for such tasks too often. */
  async missed(caller: Caller, now: number): Promise<void> {
    await this.#misses?.add(caller, now).catch(this.#refusing(caller.owner));
  }

  /** The caller looks how a task of its own stands. Refuses to be asked as if no hint had been given. */
  polled(task: Task, clock: { readonly now: number }): void {
    if (!this.#eagerness) return;
    try {
      this.#eagerness.add(task, clock);
    } catch (error) {
      this.#refusing(task.owner)(error);
    }
  }

  /** Refuses one subscription more than an owner may have, or than there may be; gives how to say that it is over. */
  subscribe(owner: Owner): () => void {
    const { subscriptionsPerOwner, subscriptions } = this.limits;
    const open = this.#subscriptions.get(owner) ?? 0;
    if (open >= subscriptionsPerOwner)
      this.#refusing(owner)(
        new OverLimit(
          'subscriptionsPerOwner',
          `No more than ${subscriptionsPerOwner} subscriptions at a time: close one first.`,
        ),
      );
    if (this.#subscriptionsInAll >= subscriptions)
      this.#refusing(owner)(
        new OverLimit(
          'subscriptions',
          `No more than ${subscriptions} subscriptions on this server: poll, or try again later.`,
          comeBackMs,
        ),
      );
    this.#subscriptions.set(owner, open + 1);
    this.#subscriptionsInAll++;
    return () => {
      const left = (this.#subscriptions.get(owner) ?? 1) - 1;
      if (left === 0) this.#subscriptions.delete(owner);
      else this.#subscriptions.set(owner, left);
      this.#subscriptionsInAll--;
    };
  }

  /** Refuses one session more than an owner may have, all of whose sessions are in use. */
  refuseSession(owner: Owner): never {
    const { sessionsPerOwner } = this.limits;
    return this.#refusing(owner)(
      new OverLimit(
        'sessionsPerOwner',
        `No more than ${sessionsPerOwner} sessions at a time: end one first.`,
      ),
    );
  }

  /** A session that nobody used went for another of its owner. */
  sessionWent(): void {
    quietly(() => this.#observer.refused('sessionsPerOwner'));
  }

  #refusing(owner: Owner): (error: unknown) => never {
    return (error) => {
      if (error instanceof OverLimit) {
        quietly(() => this.#observer.refused(error.limit));
        noteLimited(this.#recorder, owner, error);
      }
      throw error;
    };
  }
}
