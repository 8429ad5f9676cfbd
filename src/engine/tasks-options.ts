/** What can be said to `createTasks` and `work`, and the numbers that come of it. */
import type { Clock } from '../model/clock.ts';
import { type Duration, type Size, toBytes, toMs } from '../model/duration.ts';
import { InvalidOptions } from '../model/errors.ts';
import type { Origin, Owner, TaskId, Unpublished } from '../model/task.ts';
import type { WatchdogMode } from '../watchdog/watchdog.ts';
import type { Actor } from './audit.ts';
import { type Bounds, defaultBounds } from './bounds.ts';
import { defaultLargestValue } from './carried.ts';
import type { Log } from './log.ts';
import { type Observer, unobserved } from './observer.ts';
import type { DurablePrompt } from './prompt.ts';
import type { Database } from './queue.ts';
import type { DurableResource } from './resource.ts';
import type { StoreError } from './store-errors.ts';
import type { DurableTool } from './tool.ts';

export interface TasksOptions {
  /** An open database, or how to open one: `sqlite('tasks.db')`. */
  readonly store: Database | (() => Promise<Database>);
  readonly tools?: readonly DurableTool[] | undefined;
  readonly resources?: readonly DurableResource[] | undefined;
  readonly prompts?: readonly DurablePrompt[] | undefined;
  readonly clock?: Clock;
  /** How long a finished task is kept at least, however short a ttl its requestor wished. Default `'60s'`. */
  readonly shortestRetention?: Duration;
  /** The longest ttl that a requestor is granted. Default `'30d'`. */
  readonly longestRetention?: Duration;
  /**
   * What the store should hold at most, such as `'2 GB'`: beyond it the finished trees that ended first are removed
   * before their time. By default it may grow without limit.
   */
  readonly largestStore?: Size;
  /** The largest argument, step value or result, in characters of JSON. Default 16 Mi. */
  readonly largestValue?: number;
  /** Traces and metrics: `telemetry()` of `holdfast/telemetry`. By default none. */
  readonly telemetry?: Observer;
  /** Hears in plain entries what this process does to tasks. By default nobody does. */
  readonly log?: Log;
  /** How far one task may spread: depth of its tree, subtasks, open questions. */
  readonly bounds?: Partial<Bounds>;
  /** Keeps an audit log of who did what to which task, entries for 90 days unless said otherwise. By default none. */
  readonly audit?: boolean | { readonly retention?: Duration };
}

export interface CreateOptions {
  readonly owner?: Owner;
  readonly origin?: Origin;
  /** The same key, for the same owner and tool, gives the same task however often it is sent. */
  readonly idempotencyKey?: string;
  /** How long the requestor wants the task to be known, in milliseconds from now. It is granted up to a maximum. */
  readonly ttlMs?: number;
  /** … or from its end; null as long as possible. */
  readonly keepAliveMs?: number | null;
  /** However long the requestor or the tool wants it, it is kept no longer than so. */
  readonly longestRetentionMs?: number;
  /** However long the tool lets it live, it is ended after so long. */
  readonly longestDeadlineMs?: number;
  /** An id that stands for what the requestor calls the task. One that is taken is refused, whatever the arguments. */
  readonly id?: TaskId;
  /** The task belongs to an open request, and ends with it unless it is published or can be joined. */
  readonly unpublished?: boolean | Pick<Unpublished, 'join' | 'call' | 'keepMs'>;
  /** On whose behalf it is made; by default the operator's. */
  readonly by?: Actor;
}

export interface WorkOptions {
  /** Tasks that run at the same time. Default 64; handlers that need much CPU or memory may want fewer. */
  readonly concurrency?: number;
  /**
   * A worker renews its claims every third of this. Others take its tasks over at once if its process is dead, and after
   * three leases without a renewal if it is alive and silent. Default `'15s'`, and `'10s'` on Postgres.
   */
  readonly lease?: Duration;
  /** How long steps in flight may take to finish when the worker stops. Default `'5s'`. */
  readonly grace?: Duration;
  /**
   * What a watchdog thread does when the event loop is blocked: `'report'` (the default) names the step on stderr;
   * `'exit'` also ends the process after two leases, so that others continue its tasks; `'off'`.
   */
  readonly watchdog?: WatchdogMode;
}

/** The numbers behind the options of the same names; times in milliseconds, and Infinity for none. */
export interface Extents extends Bounds {
  readonly largestValue: number;
  readonly shortestRetention: number;
  readonly longestRetention: number;
  readonly largestStore: number;
}

function storeTooSmall(given: Size): InvalidOptions {
  return new InvalidOptions(
    'STORE_TOO_SMALL',
    `A store of at most ${JSON.stringify(given)} would hold next to nothing: largestStore is at least 1 MB.`,
  );
}

const smallestStore = 1_000_000;

export function extentsOf(options: Partial<TasksOptions>): Extents {
  const { largestStore: size } = options;
  const largestStore = size === undefined ? Number.POSITIVE_INFINITY : toBytes(size);
  if (largestStore < smallestStore) throw storeTooSmall(size!);
  return {
    ...defaultBounds,
    ...options.bounds,
    largestValue: options.largestValue ?? defaultLargestValue,
    shortestRetention: toMs(options.shortestRetention ?? '60s'),
    longestRetention: toMs(options.longestRetention ?? '30d'),
    largestStore,
  };
}

/** Infinite if no audit log is kept. */
export function auditRetentionOf({ audit = false }: TasksOptions): number {
  if (audit === false) return Number.POSITIVE_INFINITY;
  return toMs((audit === true ? undefined : audit.retention) ?? '90d');
}

// --- A worker -----------------------------------------------------------------------------------------------

export interface WorkerSettings {
  readonly concurrency: number;
  readonly leaseMs: number;
  /** How long steps in flight may take to finish when the worker stops. */
  readonly graceMs: number;
  /** How long a pass that only waits stays in memory. */
  readonly lingerMs: number;
  readonly extents: Extents;
  /** How long entries of the audit log are kept; infinite if nobody keeps one here. */
  readonly auditRetentionMs: number;
  /** Ends each pass after every commit that settles something, as a crash would: for tests of handlers. */
  readonly interruptAfterEveryEntry: boolean;
  /** Whoever watches its passes. What is committed it sees through the database. */
  readonly observer: Observer;
  /** Hears of passes whose work the store did not take: until the lease ends nothing will become of the task. */
  readonly onUnrecorded: (rootId: TaskId, error: StoreError) => void;
  /** What happens when the event loop is blocked. */
  readonly watchdog: WatchdogMode;
}

export const workerDefaults: WorkerSettings = {
  interruptAfterEveryEntry: false,
  concurrency: 64,
  leaseMs: 15_000,
  graceMs: 5_000,
  lingerMs: 100,
  extents: extentsOf({}),
  auditRetentionMs: Number.POSITIVE_INFINITY,
  observer: unobserved,
  onUnrecorded: () => {},
  watchdog: 'report',
};
