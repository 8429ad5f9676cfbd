/** The settings of a worker. */
import type { TaskId } from '../../model/task.ts';
import { type Observer, unobserved } from '../../ports/observer.ts';
import type { StoreError } from '../../ports/store-errors.ts';
import type { WatchdogMode } from '../../runtime/watchdog/watchdog.ts';
import { type EngineLimits, engineLimits } from '../rules/limits.ts';

export interface WorkerSettings {
  readonly concurrency: number;
  readonly leaseMs: number;
  /** How long steps in flight may take to finish when the worker stops. */
  readonly graceMs: number;
  /** How long a pass that only waits stays in memory. */
  readonly lingerMs: number;
  readonly limits: EngineLimits;
  /** How long audit entries are kept; infinite without an audit log. */
  readonly auditRetentionMs: number;
  /** For tests of handlers: ends each pass after every commit that settles an entry, as in a crash. */
  readonly interruptAfterEveryEntry: boolean;
  /** Observes passes. Commits are observed through the database. */
  readonly observer: Observer;
  /** Called if the store could not record the end of a pass: the task does not continue until the lease ends. */
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
  limits: engineLimits({}),
  auditRetentionMs: Number.POSITIVE_INFINITY,
  observer: unobserved,
  onUnrecorded: () => {},
  watchdog: 'report',
};
