/**
 * The port of those who watch: what happens here, told to one observer. It sees every commit of this process, the
 * passes of its workers and the attempts at their steps, and decides nothing.
 * Without an observer nothing stands between the engine and its store.
 */
import type { Origin, Task } from '../model/task.ts';
import type { Change } from './change.ts';
import type { Database, ToolVersion } from './queue.ts';
import type { Store } from './store.ts';

export interface Observer {
  /** The database is open; the function that is returned is called when it closes. */
  opened(database: Database, tools: readonly ToolVersion[]): () => void;

  /** A task is about to be made here: the origin that is stored with it, its trace filled in. */
  origin(origin: Origin, tool: string): Origin;

  /** A command of this process has been committed. */
  committed(change: Change): void;

  /** A handler begins to run, or to run again. */
  passBegan(task: Task): ObservedPass;

  /** A caller looks how a task stands. */
  polled(): void;

  /** What was counted, in the text format of Prometheus; absent if nothing is. */
  readonly metrics?: () => Promise<string>;
}

export interface ObservedPass {
  /** Runs the handler, so that whatever it calls knows which task it belongs to. */
  handler<T>(run: () => T): T;
  /** Runs one attempt at a step, or one look of a poll. */
  attempt(call: ObservedCall, run: () => unknown): unknown;
  /**
   * `how`: returned, threw, parked, stopped, changed, lost, or superseded: another worker had claimed the task
   * meanwhile, and what this pass still wanted to commit was refused.
   */
  ended(how: string, at: number): void;
}

export interface ObservedCall {
  readonly kind: 'step' | 'until';
  readonly name: string;
  readonly attempt: number;
}

export const unobservedPass: ObservedPass = {
  handler: (run) => run(),
  attempt: (_call, run) => run(),
  ended() {},
};

export const unobserved: Observer = {
  opened: () => () => {},
  origin: (origin) => origin,
  committed() {},
  passBegan: () => unobservedPass,
  polled() {},
};

/** The database with an observer that hears of what is committed through it. */
export function observed(database: Database, observer: Observer): Database {
  if (observer === unobserved) return database;
  const { store, queue, secrets, sessions } = database;
  return {
    store: observedStore(store, observer),
    queue,
    secrets,
    sessions,
    close: () => database.close(),
  };
}

function observedStore(store: Store, observer: Observer): Store {
  const told = (change: Change) => {
    // What is committed is committed, whatever an observer makes of it.
    if (change.writes.length + change.removed.length > 0) quietly(() => observer.committed(change));
    return change;
  };
  return {
    create: (bearing, decide) => store.create(bearing, decide).then(told),
    update: (reach, id, decide) => store.update(reach, id, decide).then(told),
    get: (id, owner) => store.get(id, owner),
    family: (id) => store.family(id),
    childIds: (id) => store.childIds(id),
    list: (query) => store.list(query),
    count: (owner, what, upTo) => store.count(owner, what, upTo),
    journal: (id) => store.journal(id),
    due: (what, now, limit) => store.due(what, now, limit),
    subscribe: (listener) => store.subscribe(listener),
    close: () => store.close(),
  };
}

export function quietly(tell: () => void): void {
  try {
    tell();
  } catch {
    // An observer that fails observes nothing.
  }
}
