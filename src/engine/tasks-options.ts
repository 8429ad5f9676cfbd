/** The options of `createTasks`, `create` and `work`. */

import { type Duration, toMs } from '../model/duration.ts';
import type { Origin, Owner, TaskId, Unpublished } from '../model/task.ts';
import type { Actor } from '../ports/audit.ts';
import type { Observer } from '../ports/observer.ts';
import type { Database } from '../ports/queue.ts';
import type { Clock } from '../runtime/clock.ts';
import type { WatchdogMode } from '../runtime/watchdog/watchdog.ts';
import type { DurablePrompt } from './handlers/prompt.ts';
import type { DurableResource } from './handlers/resource.ts';
import type { DurableTool } from './handlers/tool.ts';
import type { Log } from './log.ts';
import type { LimitOptions } from './rules/limits.ts';

export interface TasksOptions extends LimitOptions {
  /** An open database, or how to open one: `sqlite('tasks.db')`. */
  readonly store: Database | (() => Promise<Database>);
  readonly tools?: readonly DurableTool[] | undefined;
  readonly resources?: readonly DurableResource[] | undefined;
  readonly prompts?: readonly DurablePrompt[] | undefined;
  /** Replaces the system clock, for tests. */
  readonly clock?: Clock;
  /** Traces and metrics: `telemetry()` of `holdfast/telemetry`. By default none. */
  readonly telemetry?: Observer;
  /** Called with a log entry for each task event of this process. By default there is no log. */
  readonly log?: Log;
  /** Keeps an audit log of who did what with which task. Off by default. `retention` is `'90d'` by default. */
  readonly audit?: boolean | { readonly retention?: Duration };
}

export interface CreateOptions {
  readonly owner?: Owner;
  readonly origin?: Origin;
  /** Returns the existing task if the same owner and tool used this key before. Refused if the arguments differ. */
  readonly idempotencyKey?: string;
  /** The ttl that the caller requests, in milliseconds from now. At most `maxRetention` is granted. */
  readonly ttlMs?: number;
  /**
   * Like `ttlMs`, but counted from the end of the task; null for as long as possible. Ignored if there is a `ttlMs`.
   */
  readonly keepAliveMs?: number | null;
  /** The maximum retention, even if the caller or the tool requests more. */
  readonly maxRetentionMs?: number;
  /** The maximum time until the deadline, even if the tool allows more. */
  readonly maxDeadlineMs?: number;
  /** An id that the caller derives itself, for example from its own name for the task. Refused if it already exists. */
  readonly id?: TaskId;
  /** Not false if the task belongs to an open request and ends with it, unless it is published or can be joined. */
  readonly unpublished?: boolean | Pick<Unpublished, 'join' | 'call' | 'keepMs'>;
  /** On whose behalf the task is created. Default: the operator. */
  readonly by?: Actor;
}

export interface WorkOptions {
  /**
   * The maximum number of tasks that run at the same time. Default 64. Use fewer if handlers need much CPU or memory.
   */
  readonly concurrency?: number;
  /**
   * A worker renews its claims three times per lease. Other workers take over its tasks at once if its process is dead,
   * or after three leases without a renewal if it is alive but silent. Default `'15s'`, and `'10s'` on Postgres.
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

/** In milliseconds. Infinite if no audit log is kept, so that entries from before are not deleted. */
export function auditRetentionOf({ audit = false }: TasksOptions): number {
  if (audit === false) return Number.POSITIVE_INFINITY;
  return toMs((audit === true ? undefined : audit.retention) ?? '90d');
}
