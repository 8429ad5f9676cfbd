/**
 * The operator API, as used by the dashboard, the terminal and HTTP clients. Everything is JSON. Times are milliseconds
 * since 1970. Secret fields of tools are redacted.
 */

import type { TaskEvent } from '../model/event.ts';
import type { InputRequest } from '../model/input.ts';
import type { Json, JsonObject } from '../model/json.ts';
import type { Outcome } from '../model/outcome.ts';
import type { TaskStatus } from '../model/status.ts';
import type { Owner, Progress, TaskId } from '../model/task.ts';
import type { AuditEntry } from '../ports/audit.ts';
import type { Overview, TaskCount, TaskFilter } from '../ports/query.ts';

/** Who uses the API. With an owner, only that owner's tasks are visible; otherwise all tasks are. */
export interface Viewer {
  readonly owner?: Owner;
}

/** Over HTTP each method is one request: see `apiPath`. */
export interface OperatorApi {
  about(): Promise<About>;
  list(query: ListOfTasks): Promise<TaskPage>;
  count(filter: TaskFilter): Promise<TaskCount>;
  overview(query: { readonly windowMs: number }): Promise<OverviewReport>;
  /** Undefined if the task does not exist or the viewer may not see it. */
  details(id: TaskId): Promise<TaskDetails | undefined>;
  /** The outcome, including a large value. Undefined if the task is unknown or not finished. */
  result(id: TaskId): Promise<Outcome | undefined>;
  cancel(id: TaskId, reason?: string): Promise<TaskSummary>;
  /** Reruns a task as a new task with the same arguments. A second call returns the same new task. */
  retry(id: TaskId): Promise<TaskSummary>;
  /** `response` is `{ action: 'accept' | 'decline' | 'cancel', content? }`, as in MCP. */
  answer(id: TaskId, key: string, response: JsonObject): Promise<TaskSummary>;
  /** Deletes a finished tree and its results. */
  purge(id: TaskId): Promise<void>;
  /**
   * Yields changes until the signal aborts or the connection breaks. `lastId` resumes after the last received message.
   * If older changes are no longer known, the first message is `reset`: read everything again.
   */
  changes(options: { readonly signal: AbortSignal; readonly lastId?: string }): AsyncIterable<ChangeMessage>;
}

export interface ListOfTasks extends TaskFilter {
  /** 1 to 500; default 50. */
  readonly limit?: number;
  readonly cursor?: string;
}

export interface About {
  readonly version: string;
  /** Present if only this owner's tasks are shown. */
  readonly owner?: Owner;
  readonly now: number;
  /** Names of the tools, resources and prompts of this process. */
  readonly tools: readonly string[];
  /** True if an audit log is written. */
  readonly audit: boolean;
}

/**
 * A row of a list: a root task, or with the status filter `waiting` also a subtask with a question (with `parentId`).
 */
export interface TaskSummary {
  readonly id: TaskId;
  readonly owner: Owner;
  readonly tool: string;
  readonly toolVersion: string;
  readonly status: TaskStatus;
  /** Why no worker can continue the task at present. */
  readonly blocked?: string;
  readonly statusMessage?: string;
  readonly progress?: Progress;
  /** Its record cannot be read: little more than its id, owner and tool is known. */
  readonly isCorrupt?: true;
  /** One line about why it failed, was lost or was cancelled. */
  readonly problem?: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly finishedAt?: number;
  /** The caller waits for the plain result and has no task id. */
  readonly plainCall?: true;
  readonly deadlineAt: number | null;
  readonly parentId?: TaskId;
  readonly rootId: TaskId;
  readonly childCount: number;
  readonly liveChildCount: number;
  readonly openQuestions: number;
  /** The number of passes so far, including the current one. */
  readonly passes: number;
  readonly version: number;
}

export interface TaskPage {
  readonly tasks: readonly TaskSummary[];
  readonly nextCursor?: string;
}

export interface OverviewReport extends Overview {
  readonly now: number;
  readonly since: number;
  /** The end of the current bucket, a little later than now. */
  readonly until: number;
  /** A few tasks and subtasks that wait for an answer, the newest first. */
  readonly waiting: readonly TaskSummary[];
  /** A few failed and lost tasks, the newest first. */
  readonly failing: readonly TaskSummary[];
}

/** All details of one task. */
export interface TaskDetails {
  readonly task: TaskSummary;
  readonly origin: { readonly dialect: string; readonly method: string };
  readonly arguments: Json;
  /** Present once finished. A large value is replaced by null, with `isLarge`: read it with `result`. */
  readonly outcome?: Outcome & { readonly isLarge?: true };
  /** When it may be purged; null if not yet known, or never. */
  readonly purgeAt: number | null;
  readonly wakeAt: number | null;
  /** The worker that runs it now. */
  readonly worker?: { readonly name: string; readonly leaseUntil: number };
  readonly retryOf?: TaskId;
  readonly retriedAs?: TaskId;
  /** From the root down to its parent. */
  readonly ancestors: readonly { readonly id: TaskId; readonly tool: string }[];
  /** In the order in which they were started; at most 500. */
  readonly children: readonly TaskSummary[];
  readonly passes: readonly PassSpan[];
  /** In the order of the calls. Of very many calls, settled ones in the middle are omitted. */
  readonly calls: readonly CallSpan[];
  readonly omittedCalls: number;
  readonly questions: readonly Question[];
  /** In order. Of very many events, the middle is omitted. */
  readonly events: readonly HistoryEvent[];
  readonly omittedEvents: number;
  readonly audit: readonly AuditEntry[];
}

/** One pass: the time in which one worker ran the task. */
export interface PassSpan {
  /** The epoch, counted from 1. */
  readonly number: number;
  readonly worker: string;
  readonly from: number;
  /** Null while it runs. */
  readonly to: number | null;
  /**
   * `running`; `parked`: only waits are open, the task is blocked, or only its subtasks are live; `released`: the
   * worker stopped and gave the task back; `crashed`: the process died or stopped responding, and another one took
   * over; `ended`: the task finished.
   */
  readonly end: 'running' | 'parked' | 'released' | 'crashed' | 'ended';
  /** How many settled calls this pass replayed from the journal. */
  readonly replayed: number;
}

/** One call of the handler on its task: a step, a wait, a question, a subtask. */
export interface CallSpan {
  /**
   * `start` starts a subtask, and `result` waits for its result. `until` waits for a condition, `event` for an event.
   */
  readonly kind: 'step' | 'ask' | 'start' | 'result' | 'sleep' | 'until' | 'event';
  readonly name: string;
  /** The pass that made the call first. */
  readonly pass: number;
  readonly from: number;
  /** Null while it is open. For a call that never settled, the end of its task. */
  readonly to: number | null;
  readonly state: 'open' | 'ok' | 'failed';
  /** Failed attempts, each with the time of its retry. */
  readonly attempts: readonly { readonly at: number; readonly message: string; readonly retryAt: number }[];
  /** The value, shortened. Values of tools with unknown secrets are redacted. */
  readonly value?: Json;
  readonly error?: string;
  /** The key of a question. */
  readonly key?: string;
  /** The id of a subtask. */
  readonly childId?: TaskId;
  /** When a timer fires or a wait times out. */
  readonly due?: number;
}

/** A question and its answer. */
export interface Question {
  readonly key: string;
  readonly request: InputRequest;
  readonly state: 'open' | 'answered' | 'withdrawn';
  readonly askedAt: number;
  readonly settledAt?: number;
  readonly response?: JsonObject;
}

export interface HistoryEvent {
  readonly version: number;
  readonly at: number;
  readonly event: TaskEvent;
}

export type ChangeMessage =
  /**
   * `tasks`: the current roots of changed trees. `subtasks`: the current subtasks whose question was asked, answered or
   * withdrawn. `removed`: the roots of removed trees.
   */
  | {
      readonly type: 'changes';
      readonly id: string;
      readonly tasks: readonly TaskSummary[];
      readonly subtasks: readonly TaskSummary[];
      readonly removed: readonly TaskId[];
    }
  | { readonly type: 'reset'; readonly id: string };

/**
 * The requests, below `/operator/api`. Each needs `Authorization: Bearer TOKEN`, and each POST needs
 * `Content-Type: application/json`. Errors are `{ error: { message } }` with an HTTP status.
 *
 *     GET  /about
 *     GET  /tasks?status=failed&status=lost&tool=&owner=&since=&until=&text=&limit=&cursor=
 *     GET  /count?…                     the same filters
 *     GET  /overview?window=3600000     milliseconds
 *     GET  /tasks/ID                    the details
 *     GET  /tasks/ID/result
 *     GET  /changes                     text/event-stream; Last-Event-ID resumes
 *     POST /tasks/ID/cancel             { reason? }
 *     POST /tasks/ID/retry              {}
 *     POST /tasks/ID/answer             { key, response }
 *     POST /tasks/ID/purge              {}
 */
export const apiPath = '/operator/api';

/** The path of the dashboard. */
export const dashboardPath = '/operator/';
