/**
 * A database whose calls fail after a few seconds, for code that serves callers. A store may block much longer, for
 * example while it restarts or while another program has it locked. A `create` or `update` that timed out should not
 * take effect later: if the store runs its rule after the timeout, the rule refuses.
 */
import { refusal } from '../../model/errors.ts';
import type { Change, Verdict } from '../../ports/change.ts';
import type { Database } from '../../ports/queue.ts';
import { StoreTimedOut } from '../../ports/store-errors.ts';
import { runtime, type Timer } from '../../runtime/runtime.ts';
import { type Around, decorated } from './decorator.ts';

const timeoutMs = 4_000;
/** How often the timer checks for calls that have timed out. */
const checkMs = 250;

interface Wait {
  /** When the call times out. On the monotonic clock. */
  until: number;
  readonly giveUp: () => void;
}

export function timeLimited(database: Database): Database {
  const { store } = database;
  const waits = new Waits();
  const limited: Around = {
    read: (act) => waits.for(act(), () => new StoreTimedOut(timeoutMs, false)),
    // `true`: a write that timed out may still take effect.
    write: (act) => waits.for(act(), () => new StoreTimedOut(timeoutMs, true)),
  };
  const served = decorated(database, limited, ['store', 'queue', 'secrets', 'sessions', 'calls']);
  return {
    ...served,
    store: {
      ...served.store,
      create: (bearing, decide) => commanded(waits, decide, (rule) => store.create(bearing, rule)),
      update: (reach, id, decide) => commanded(waits, decide, (rule) => store.update(reach, id, rule)),
    },
  };
}

/** Runs a command whose rule refuses after the timeout. If the rule ran before it, the store may still commit. */
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
    return new StoreTimedOut(timeoutMs, isDecided);
  });
}

/** All pending calls, checked by one timer: a timer per call would cost more than most calls. */
class Waits {
  readonly #open = new Set<Wait>();
  #timer: Timer | undefined;
  #checkedAt = 0;

  async for<T>(act: Promise<T>, late: () => Error): Promise<T> {
    const { promise: timedOut, reject } = Promise.withResolvers<never>();
    const wait = { until: runtime.monotonic() + timeoutMs, giveUp: () => reject(late()) };
    this.#open.add(wait);
    this.#startTimer();
    try {
      return await Promise.race([act, timedOut]);
    } finally {
      this.#open.delete(wait);
    }
  }

  #startTimer(): void {
    if (this.#timer) return;
    this.#checkedAt = runtime.monotonic();
    this.#timer = runtime.setInterval(() => this.#check(), checkMs).unref();
  }

  #check(): void {
    const now = runtime.monotonic();
    // Time during which this process was stopped does not count. A timer that is late by less than `checkMs` is normal.
    const stoppedMs = Math.max(0, now - this.#checkedAt - 2 * checkMs);
    this.#checkedAt = now;
    for (const wait of this.#open) {
      wait.until += stoppedMs;
      if (now < wait.until) continue;
      this.#open.delete(wait);
      wait.giveUp();
    }
    if (this.#open.size > 0) return;
    runtime.clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
