/**
 * What is told of changes as they happen. One stream for the whole page; it is resumed where it broke, with growing
 * pauses. However fast changes come, listeners hear of them at most a few times a second, each task once and as it
 * stands then: between two calls there is nothing to grow but the set of tasks that changed.
 *
 * A page out of sight has no stream. Browsers have six connections for all tabs of a server, and with as many streams no
 * tab could ask for anything any more.
 */
import { batch, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { ChangeMessage, TaskSummary } from '../../src/operator/api.ts';
import { type HttpDesk, Offline, Unauthorized } from './api.ts';
import { sentenceOf } from './errors.ts';
import { signOut } from './session.ts';

export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** `retryAt` is by the browser's own clock; `because` is what the server says, if it answers at all. */
  | { readonly state: 'offline'; readonly retryAt: number; readonly because?: string };

export const connection = signal<Connection>({ state: 'connecting' });

/** When anything last came from the server, by the browser's own clock. */
export const lastHeard = signal<number | undefined>(undefined);

export interface Changes {
  /** Roots of the trees that changed, as they stand now. */
  readonly tasks: readonly TaskSummary[];
  /** Below them, those that began or ceased to ask, as they stand now. */
  readonly subtasks: readonly TaskSummary[];
  readonly removed: readonly string[];
  /** Something may have been missed: what is shown must be asked for anew. */
  readonly reset: boolean;
}

const pauseMs = 250;
const firstBackOffMs = 500;
const longestBackOffMs = 10_000;

const listeners = new Set<(changes: Changes) => void>();
const summaries = new Map<string, Signal<TaskSummary | undefined>>();

/** Calls the listener with what changed, until the function that is given back is called. */
export function onChanges(listener: (changes: Changes) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** A root as it was last told of; undefined if it was not, or is gone. */
export function summaryOf(id: string): ReadonlySignal<TaskSummary | undefined> {
  let known = summaries.get(id);
  if (!known) {
    known = signal(undefined);
    summaries.set(id, known);
  }
  return known;
}

/** Makes known what was learned in another way; what is older than what is known is ignored. */
export function remember(task: TaskSummary): void {
  const known = summaryOf(task.id) as Signal<TaskSummary | undefined>;
  if (!known.value || known.value.version <= task.version) known.value = task;
}

let connected = Promise.withResolvers<void>();

/**
 * Fulfilled once everything is told that happens from then on, or if nothing can be: whoever loads after it misses
 * nothing in between.
 */
export function whenConnected(): Promise<void> {
  return connected.promise;
}

/** Follows changes until the function that is given back is called. */
export function follow(desk: HttpDesk): () => void {
  const stopping = new AbortController();
  connection.value = { state: 'connecting' };
  void run(desk, stopping.signal);
  return () => {
    stopping.abort();
    gathered = nothing();
    // Whoever waits from now on waits for the next connection; it may do so before that is begun.
    connected = Promise.withResolvers();
  };
}

let retryNow: () => void = () => {};

/** Tries again at once instead of waiting for the next try. */
export function reconnect(): void {
  retryNow();
}

async function run(desk: HttpDesk, signal: AbortSignal): Promise<void> {
  let lastId: string | undefined;
  let backOff = firstBackOffMs;
  let isFirst = true;
  const onHeard = () => {
    lastHeard.value = Date.now();
    backOff = firstBackOffMs;
    if (connection.peek().state !== 'live') connection.value = { state: 'live' };
  };
  while (!signal.aborted) {
    let because: string | undefined;
    if (document.hidden) {
      // What is loaded now may be old when the page is looked at: then the first message counts too.
      isFirst = false;
      connected.resolve();
      await untilSeen(signal);
      continue;
    }
    const leaving = new AbortController();
    const leave = () => document.hidden && leaving.abort();
    document.addEventListener('visibilitychange', leave);
    try {
      for await (const message of desk.changes({
        signal: AbortSignal.any([signal, leaving.signal]),
        onHeard,
        ...(lastId !== undefined && { lastId }),
      })) {
        lastId = message.id;
        // Nobody has loaded anything that the first message could make stale.
        if (!isFirst || message.type !== 'reset') gather(message);
        isFirst = false;
        connected.resolve();
      }
    } catch (error) {
      if (error instanceof Unauthorized) {
        connected.resolve();
        return signOut('refused');
      }
      if (!(error instanceof Offline)) because = sentenceOf(error);
    } finally {
      document.removeEventListener('visibilitychange', leave);
    }
    if (signal.aborted) return;
    if (leaving.signal.aborted) continue;
    isFirst = false;
    connected.resolve();
    // Many dashboards lose the same server at the same time: they should not all come back in the same moment.
    const wait = backOff * (0.75 + Math.random() / 2);
    connection.value = { state: 'offline', retryAt: Date.now() + wait, ...(because && { because }) };
    backOff = Math.min(backOff * 2, longestBackOffMs);
    await pause(wait, signal);
  }
}

function untilSeen(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      signal.removeEventListener('abort', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
  });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      removeEventListener('online', done);
      resolve();
    }
    retryNow = done;
    addEventListener('online', done);
    signal.addEventListener('abort', done, { once: true });
  });
}

interface Gathered {
  readonly tasks: Map<string, TaskSummary>;
  readonly subtasks: Map<string, TaskSummary>;
  readonly removed: Set<string>;
  reset: boolean;
}

let gathered = nothing();
let isScheduled = false;
let lastTold = 0;

function nothing(): Gathered {
  return { tasks: new Map(), subtasks: new Map(), removed: new Set(), reset: false };
}

function gather(message: ChangeMessage): void {
  if (message.type === 'reset') gathered.reset = true;
  else {
    for (const task of message.tasks) {
      gathered.tasks.set(task.id, task);
      gathered.removed.delete(task.id);
    }
    for (const task of message.subtasks) gathered.subtasks.set(task.id, task);
    for (const id of message.removed) {
      gathered.tasks.delete(id);
      gathered.removed.add(id);
    }
  }
  if (isScheduled) return;
  isScheduled = true;
  setTimeout(tell, Math.max(0, lastTold + pauseMs - performance.now()));
}

function tell(): void {
  isScheduled = false;
  lastTold = performance.now();
  const changes = {
    tasks: [...gathered.tasks.values()],
    subtasks: [...gathered.subtasks.values()],
    removed: [...gathered.removed],
    reset: gathered.reset,
  };
  gathered = nothing();
  batch(() => {
    for (const task of [...changes.tasks, ...changes.subtasks]) if (summaries.has(task.id)) remember(task);
    for (const id of changes.removed) {
      const known = summaries.get(id);
      if (known) known.value = undefined;
    }
    for (const listener of listeners) listener(changes);
  });
}
