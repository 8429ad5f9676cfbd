/** The database as a process with bad luck sees it: busy, full, slow, or done without a word. */
import type { Claim, Database, Queue } from '../src/engine/queue.ts';
import type { Store } from '../src/engine/store.ts';
import { StoreBusy, StoreFull, StoreSilent } from '../src/engine/store-errors.ts';
import { pause } from '../src/model/runtime.ts';

export interface StoreState {
  fails: 'busy' | 'full' | undefined;
  slowMs: number;
  /** So many of the next commands are carried out, and their answer does not come. */
  losesAnswers: number;
}

const place = 'the simulated database';

export function faulty(
  database: Database,
  state: StoreState,
  renewed: (claims: readonly Claim[]) => void,
): Database {
  /** What writes may fail; what reads is only slow. */
  const written = async <T>(act: () => Promise<T>): Promise<T> => {
    if (state.slowMs > 0) await pause(state.slowMs);
    if (state.fails === 'busy') throw new StoreBusy(place, 'it is locked', 'Try again.');
    if (state.fails === 'full') throw new StoreFull(place, 'the disk is full', 'Free some space.');
    const value = await act();
    if (state.losesAnswers > 0) {
      state.losesAnswers--;
      throw new StoreSilent(5_000, true);
    }
    return value;
  };
  const read = async <T>(act: () => Promise<T>): Promise<T> => {
    if (state.slowMs > 0) await pause(state.slowMs);
    return act();
  };
  const { store, queue, sessions, calls } = database;
  const commanded: Store = {
    create: (bearing, decide) => written(() => store.create(bearing, decide)),
    update: (reach, id, decide) => written(() => store.update(reach, id, decide)),
    claim: (query, decide) => written(() => store.claim(query, decide)),
    get: (id, owner) => read(() => store.get(id, owner)),
    family: (id) => read(() => store.family(id)),
    asking: (rootId) => read(() => store.asking(rootId)),
    childIds: (id) => read(() => store.childIds(id)),
    list: (query) => read(() => store.list(query)),
    count: (owner, what, upTo) => read(() => store.count(owner, what, upTo)),
    commitsOf: (id, afterVersion, limit) => read(() => store.commitsOf(id, afterVersion, limit)),
    journal: (id) => read(() => store.journal(id)),
    due: (what, now, limit) => read(() => store.due(what, now, limit)),
    leaveOut: (before, limit) => written(() => store.leaveOut(before, limit)),
    size: () => read(() => store.size()),
    subscribe: (listener) => store.subscribe(listener),
    close: () => store.close(),
  };
  const dispatched: Queue = {
    name: queue.name,
    isAlive: (name, certainty) => read(() => queue.isAlive(name, certainty)),
    orphans: (tools, since, limit) => read(() => queue.orphans(tools, since, limit)),
    renew: (claims, leaseMs) =>
      written(async () => {
        const lost = await queue.renew(claims, leaseMs);
        renewed(claims.filter((claim) => !lost.includes(claim)));
        return lost;
      }),
    isolate: (claim) => written(() => queue.isolate(claim)),
    backlog: (tools, most) => read(() => queue.backlog(tools, most)),
    onWork: (listener) => queue.onWork(listener),
  };
  return {
    ...database,
    store: commanded,
    queue: dispatched,
    sessions: {
      delete: (id) => written(() => sessions.delete(id)),
      forget: (before) => written(() => sessions.forget(before)),
      save: (session) => written(() => sessions.save(session)),
      get: (id) => read(() => sessions.get(id)),
    },
    calls: {
      undelivered: (key) => read(() => calls.undelivered(key)),
      ofRequest: (request) => read(() => calls.ofRequest(request)),
      take: (id, from, by) => written(() => calls.take(id, from, by)),
      leave: (id, by) => written(() => calls.leave(id, by)),
      delivered: (id) => written(() => calls.delivered(id)),
    },
  };
}
