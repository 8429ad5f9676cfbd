/** What a worker is told. */
import type { TaskId } from '../model/task.ts';
import type { WatchdogMode } from '../watchdog/watchdog.ts';
import { type Bounds, defaultBounds } from './bounds.ts';
import { defaultLargestValue } from './carried.ts';
import { type Keeping, keepingDefaults } from './housekeeping.ts';
import { type Observer, unobserved } from './observer.ts';
import type { StoreError } from './store-errors.ts';

export interface WorkerSettings {
  readonly concurrency: number;
  readonly leaseMs: number;
  /** How long steps in flight may take to finish when the worker stops. */
  readonly graceMs: number;
  /** How long a pass that only waits stays in memory. */
  readonly lingerMs: number;
  /** The largest value of a step or result, in characters of JSON. */
  readonly largestValue: number;
  readonly bounds: Bounds;
  readonly keeping: Keeping;
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
  concurrency: 8,
  leaseMs: 15_000,
  graceMs: 5_000,
  lingerMs: 100,
  largestValue: defaultLargestValue,
  observer: unobserved,
  onUnrecorded: () => {},
  bounds: defaultBounds,
  keeping: keepingDefaults,
  watchdog: 'report',
};
