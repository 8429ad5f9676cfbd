/**
 * A database for those who serve callers. A store may be waited for while it restarts, or while another program holds
 * it locked; callers are told after a few seconds. What was given up must not happen later: its rule refuses, should
 * the store still come to it.
 */
import { Refusal } from '../model/errors.ts';
import { runtime, type Timer } from '../model/runtime.ts';
import type { Change, Verdict } from './change.ts';
import type { Database } from './queue.ts';
import type { Store } from './store.ts';
import { StoreSilent } from './store-errors.ts';

const patienceMs = 4_000;
const lookMs = 250;

/** Nobody waits for it any more. */
class GivenUp extends Refusal {}

interface Wait {
  until: number;
  readonly giveUp: () => void;
}

export function impatient(database: Database): Database {
  const { store, queue, sessions, calls } = database;
  const waits = new Waits();
  const read = <T>(act: Promise<T>) => waits.for(act, () => new StoreSilent(patienceMs, false));
  /** It cannot be withdrawn any more. */
  const write = <T>(act: Promise<T>) => waits.for(act, () => new StoreSilent(patienceMs, true));
  const command = (run: Command) => commanded(waits, run);
  const served: Store = {
    create: (bearing, decide) =>
      command((unlessGivenUp) => store.create(bearing, (existing) => unlessGivenUp(() => decide(existing)))),
    update: (reach, id, decide) =>
      command((unlessGivenUp) => store.update(reach, id, (found) => unlessGivenUp(() => decide(found)))),
    claim: (query, decide) => store.claim(query, decide),
    get: (id, owner) => read(store.get(id, owner)),
    family: (id) => read(store.family(id)),
    asking: (rootId) => read(store.asking(rootId)),
    childIds: (id) => read(store.childIds(id)),
    list: (query) => read(store.list(query)),
    count: (owner, what, upTo) => read(store.count(owner, what, upTo)),
    journal: (id) => read(store.journal(id)),
    commitsOf: (id, afterVersion, limit) => read(store.commitsOf(id, afterVersion, limit)),
    leaveOut: (before, limit) => read(store.leaveOut(before, limit)),
    due: (what, now, limit) => read(store.due(what, now, limit)),
    size: () => read(store.size()),
    subscribe: (listener) => store.subscribe(listener),
    close: () => store.close(),
  };
  return {
    ...database,
    store: served,
    queue: { ...queue, backlog: (tools, most) => read(queue.backlog(tools, most)) },
    sessions: {
      save: (session) => write(sessions.save(session)),
      get: (id) => read(sessions.get(id)),
      delete: (id) => write(sessions.delete(id)),
      forget: (seenBefore) => write(sessions.forget(seenBefore)),
    },
    calls: {
      undelivered: (key) => read(calls.undelivered(key)),
      ofRequest: (request) => read(calls.ofRequest(request)),
      take: (id, from, by) => write(calls.take(id, from, by)),
      leave: (id, by) => write(calls.leave(id, by)),
      delivered: (id) => write(calls.delivered(id)),
    },
    close: () => database.close(),
  };
}

type Command = (unlessGivenUp: (decide: () => Verdict) => Verdict) => Promise<Change>;

function commanded(waits: Waits, run: Command): Promise<Change> {
  let isGivenUp = false;
  let isDecided = false;
  const act = run((decide) => {
    if (isGivenUp) return new GivenUp();
    isDecided = true;
    return decide();
  });
  return waits.for(act, () => {
    isGivenUp = true;
    return new StoreSilent(patienceMs, isDecided);
  });
}

/** All that is waited for, looked at now and then: a timer for each would cost more than most answers. */
class Waits {
  readonly #open = new Set<Wait>();
  #looks: Timer | undefined;
  #lookedAt = 0;

  for<T>(act: Promise<T>, late: () => Error): Promise<T> {
    return new Promise((resolve, reject) => {
      const wait = { until: runtime.monotonic() + patienceMs, giveUp: () => reject(late()) };
      this.#open.add(wait);
      this.#startLooking();
      act.then(
        (value) => {
          this.#open.delete(wait);
          resolve(value);
        },
        (error: unknown) => {
          this.#open.delete(wait);
          reject(error);
        },
      );
    });
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
