/**
 * The change feed of the page: one stream, resumed after a disconnect with exponential backoff. Listeners are called at
 * most a few times a second, with the latest version of each changed task, so that memory grows only with the number of
 * changed tasks.
 *
 * A hidden page closes its stream. Browsers open at most six connections per server for all tabs together: six streams
 * would block every other request.
 */
import { batch, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { ChangeMessage, TaskSummary } from '../../src/operator/api.ts';
import { type HttpOperatorApi, Offline, Unauthorized } from './api.ts';
import { sentenceOf } from './errors.ts';
import { signOut } from './session.ts';

export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** `retryAt` is in the browser's own time; `because` is the server's message if it answered. */
  | { readonly state: 'offline'; readonly retryAt: number; readonly because?: string };

export const connection = signal<Connection>({ state: 'connecting' });

/** When the server last sent anything, in the browser's own time. */
export const lastReceivedAt = signal<number | undefined>(undefined);

export interface Changes {
  /** The current roots of the trees that changed. */
  readonly tasks: readonly TaskSummary[];
  /** Their current subtasks whose questions were opened or closed. */
  readonly subtasks: readonly TaskSummary[];
  readonly removed: readonly string[];
  /** Changes may have been missed: everything shown must be loaded again. */
  readonly reset: boolean;
}

const minPauseMs = 250;
const minBackOffMs = 500;
const maxBackOffMs = 10_000;

const listeners = new Set<(changes: Changes) => void>();
const summaries = new Map<string, Signal<TaskSummary | undefined>>();

/** Calls the listener with changes until the returned function is called. */
export function onChanges(listener: (changes: Changes) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The latest known summary of a root; undefined if unknown or purged. */
export function summaryOf(id: string): ReadonlySignal<TaskSummary | undefined> {
  let known = summaries.get(id);
  if (!known) {
    known = signal(undefined);
    summaries.set(id, known);
  }
  return known;
}

/** Stores a summary from another source; an older version is ignored. */
export function remember(task: TaskSummary): void {
  const known = summaryOf(task.id) as Signal<TaskSummary | undefined>;
  if (!known.value || known.value.version <= task.version) known.value = task;
}

let connected = Promise.withResolvers<void>();

/**
 * Resolves once all later changes will be delivered, or if the connection fails. Data loaded afterwards misses no
 * change.
 */
export function whenConnected(): Promise<void> {
  return connected.promise;
}

/** Follows changes until the returned function is called. */
export function follow(api: HttpOperatorApi): () => void {
  const stopping = new AbortController();
  connection.value = { state: 'connecting' };
  void run(api, stopping.signal);
  return () => {
    stopping.abort();
    pending = noChanges();
    // From now on callers wait for the next connection, even before it is opened.
    connected = Promise.withResolvers();
  };
}

let retryNow: () => void = () => {};

/** Reconnects at once instead of waiting for the next attempt. */
export function reconnect(): void {
  retryNow();
}

async function run(api: HttpOperatorApi, signal: AbortSignal): Promise<void> {
  let lastId: string | undefined;
  let backOff = minBackOffMs;
  let isFirst = true;
  const onReceived = () => {
    lastReceivedAt.value = Date.now();
    backOff = minBackOffMs;
    if (connection.peek().state !== 'live') connection.value = { state: 'live' };
  };
  while (!signal.aborted) {
    let because: string | undefined;
    if (document.hidden) {
      // Data loaded now may be stale when the page becomes visible, so the first message must count then.
      isFirst = false;
      connected.resolve();
      await untilVisible(signal);
      continue;
    }
    const leaving = new AbortController();
    const leave = () => document.hidden && leaving.abort();
    document.addEventListener('visibilitychange', leave);
    try {
      for await (const message of api.changes({
        signal: AbortSignal.any([signal, leaving.signal]),
        onReceived,
        ...(lastId !== undefined && { lastId }),
      })) {
        lastId = message.id;
        // Nothing has been loaded yet that a reset in the first message could make stale.
        if (!isFirst || message.type !== 'reset') collect(message);
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
    // Random jitter: many dashboards lose the same server at the same time.
    const wait = backOff * (0.75 + Math.random() / 2);
    connection.value = { state: 'offline', retryAt: Date.now() + wait, ...(because && { because }) };
    backOff = Math.min(backOff * 2, maxBackOffMs);
    await pause(wait, signal);
  }
}

function untilVisible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', check);
      signal.removeEventListener('abort', check);
      resolve();
    };
    document.addEventListener('visibilitychange', check);
    signal.addEventListener('abort', check);
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

interface Pending {
  readonly tasks: Map<string, TaskSummary>;
  readonly subtasks: Map<string, TaskSummary>;
  readonly removed: Set<string>;
  reset: boolean;
}

let pending = noChanges();
let isScheduled = false;
let lastNotified = 0;

function noChanges(): Pending {
  return { tasks: new Map(), subtasks: new Map(), removed: new Set(), reset: false };
}

function collect(message: ChangeMessage): void {
  if (message.type === 'reset') pending.reset = true;
  else {
    for (const task of message.tasks) {
      pending.tasks.set(task.id, task);
      pending.removed.delete(task.id);
    }
    for (const task of message.subtasks) pending.subtasks.set(task.id, task);
    for (const id of message.removed) {
      pending.tasks.delete(id);
      pending.removed.add(id);
    }
  }
  if (isScheduled) return;
  isScheduled = true;
  setTimeout(notify, Math.max(0, lastNotified + minPauseMs - performance.now()));
}

function notify(): void {
  isScheduled = false;
  lastNotified = performance.now();
  const changes = {
    tasks: [...pending.tasks.values()],
    subtasks: [...pending.subtasks.values()],
    removed: [...pending.removed],
    reset: pending.reset,
  };
  pending = noChanges();
  batch(() => {
    for (const task of [...changes.tasks, ...changes.subtasks]) if (summaries.has(task.id)) remember(task);
    for (const id of changes.removed) {
      const known = summaries.get(id);
      if (known) known.value = undefined;
    }
    for (const listener of listeners) listener(changes);
  });
}
