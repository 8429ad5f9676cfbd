/**
 * A database for those who serve callers. A store may be waited for while it restarts, or while another program holds
 * it locked; callers are told after a few seconds. What was given up must not happen later: its rule refuses, should
 * the store still come to it.
 */
import { refusal } from '../../model/errors.ts';
import type { Change, Verdict } from '../../ports/change.ts';
import type { Database } from '../../ports/queue.ts';
import { StoreTimedOut } from '../../ports/store-errors.ts';
import { runtime, type Timer } from '../../runtime/runtime.ts';
import { type Around, decorated } from './decorator.ts';

const patienceMs = 4_000;
const lookMs = 250;

interface Wait {
  until: number;
  readonly giveUp: () => void;
}

export function timeLimited(database: Database): Database {
  const { store } = database;
  const waits = new Waits();
  const hurried: Around = {
    read: (act) => waits.for(act(), () => new StoreTimedOut(patienceMs, false)),
    // It cannot be withdrawn any more.
    write: (act) => waits.for(act(), () => new StoreTimedOut(patienceMs, true)),
  };
  const served = decorated(database, hurried, ['store', 'queue', 'secrets', 'sessions', 'calls']);
  return {
    ...served,
    store: {
      ...served.store,
      create: (bearing, decide) => commanded(waits, decide, (rule) => store.create(bearing, rule)),
      update: (reach, id, decide) => commanded(waits, decide, (rule) => store.update(reach, id, rule)),
    },
  };
}

function commanded<Subject>(
  waits: Waits,
  decide: (subject: Subject) => Verdict,
  run: (rule: (subject: Subject) => Verdict) => Promise<Change>,
): Promise<Change> {
  let isGivenUp = false;
  let isDecided = false;
  const act = run((subject) => {
    if (isGivenUp) return refusal('GIVEN_UP');
    isDecided = true;
    return decide(subject);
  });
  return waits.for(act, () => {
    isGivenUp = true;
    return new StoreTimedOut(patienceMs, isDecided);
  });
}

/** All that is waited for, looked at now and then: a timer for each would cost more than most answers. */
class Waits {
  readonly #open = new Set<Wait>();
  #looks: Timer | undefined;
  #lookedAt = 0;

  async for<T>(act: Promise<T>, late: () => Error): Promise<T> {
    const { promise: silence, reject } = Promise.withResolvers<never>();
    const wait = { until: runtime.monotonic() + patienceMs, giveUp: () => reject(late()) };
    this.#open.add(wait);
    this.#startLooking();
    try {
      return await Promise.race([act, silence]);
    } finally {
      this.#open.delete(wait);
    }
  }

  #startLooking(): void {
    if (this.#looks) return;
    this.#lookedAt = runtime.monotonic();
    this.#looks = runtime.setInterval(() => this.#look(), lookMs).unref();
  }

  #look(): void {
    const now = runtime.monotonic();
    // Time in which this process itself stood still is not the store's.
    const stoodStillMs = Math.max(0, now - this.#lookedAt - 2 * lookMs);
    this.#lookedAt = now;
    for (const wait of this.#open) {
      wait.until += stoodStillMs;
      if (now < wait.until) continue;
      this.#open.delete(wait);
      wait.giveUp();
    }
    if (this.#open.size > 0) return;
    runtime.clearInterval(this.#looks);
    this.#looks = undefined;
  }
}
