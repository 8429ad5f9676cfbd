/** The numbers by which a worker runs tasks. */
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
  limits: engineLimits({}),
  auditRetentionMs: Number.POSITIVE_INFINITY,
  observer: unobserved,
  onUnrecorded: () => {},
  watchdog: 'report',
};
