/** The settings of a worker. */
import type { TaskId } from '../../model/task.ts';
import { type Observer, unobserved } from '../../ports/observer.ts';
import type { StoreError } from '../../ports/store-errors.ts';
import type { WatchdogMode } from '../../runtime/watchdog/watchdog.ts';
import { type EngineLimits, engineLimits } from '../rules/limits.ts';

export interface WorkerSettings {
  /** The maximum number of tasks that run at the same time. */
  readonly concurrency: number;
  readonly leaseMs: number;
  /** How long steps in flight may take to finish when the worker stops. */
  readonly graceMs: number;
  /** How long a pass that only waits stays in memory before it parks, so that a quick answer needs no replay. */
  readonly lingerMs: number;
  readonly limits: EngineLimits;
  /** How long audit entries are kept; infinite without an audit log. */
  readonly auditRetentionMs: number;
  /**
   * For tests of handlers: ends the pass, as in a crash, after every commit with an entry. So every entry is replayed.
   */
  readonly interruptAfterEveryEntry: boolean;
  /** Observes passes. Commits are observed through the database. */
  readonly observer: Observer;
  /** Called if the store could not record the end of a pass. The task stays claimed until the store can release it. */
  readonly onUnrecorded: (rootId: TaskId, error: StoreError) => void;
  /** What happens when the event loop is blocked: see `WorkOptions.watchdog`. */
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
