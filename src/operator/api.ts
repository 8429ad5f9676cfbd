/**
 * What operators are told, and what they can do: the same for the dashboard, the terminal and whoever speaks HTTP. All
 * of it is JSON. Moments are milliseconds since 1970. Values of tools have their secret fields hidden.
 */

import type { TaskEvent } from '../model/event.ts';
import type { InputRequest } from '../model/input.ts';
import type { Json, JsonObject } from '../model/json.ts';
import type { Outcome } from '../model/outcome.ts';
import type { TaskStatus } from '../model/status.ts';
import type { Owner, Progress, TaskId } from '../model/task.ts';
import type { AuditEntry } from '../ports/audit.ts';
import type { Overview, TaskCount, TaskFilter } from '../ports/query.ts';

/** Whoever looks: everything, or one owner's tasks as if there were no others. */
export interface Viewer {
  readonly owner?: Owner;
}

/** The operator's desk. Over HTTP each method is one request: see `paths`. */
export interface OperatorApi {
  about(): Promise<About>;
  list(query: ListOfTasks): Promise<TaskPage>;
  count(filter: TaskFilter): Promise<TaskCount>;
  overview(query: { readonly windowMs: number }): Promise<OverviewReport>;
  /** Undefined if there is no such task, or none that this viewer may see. */
  details(id: TaskId): Promise<TaskDetails | undefined>;
  /** The result, with its large value. */
  result(id: TaskId): Promise<Outcome | undefined>;
  cancel(id: TaskId, reason?: string): Promise<TaskSummary>;
  /** Makes a new task of the same call. A task is retried once: a second request gives the same new task. */
  retry(id: TaskId): Promise<TaskSummary>;
  /** `response` is `{ action: 'accept' | 'decline' | 'cancel', content? }`, as in MCP. */
  answer(id: TaskId, key: string, response: JsonObject): Promise<TaskSummary>;
  /** Removes a tree that is done; its results cannot be fetched any more. */
  purge(id: TaskId): Promise<void>;
  /**
   * Tells of changes until the signal fires or the connection breaks. `lastId` goes on behind the last one that was
   * heard; what cannot be known any more is told as `reset`: look at everything anew.
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
  /** Names of the tools, resources and prompts that this process knows. */
  readonly tools: readonly string[];
  /** Whether an audit log is kept. */
  readonly audit: boolean;
}

/** One row of a list: a root, or where `waiting` was asked for a subtask with a question (`parentId`). */
export interface TaskSummary {
  readonly id: TaskId;
  readonly owner: Owner;
  readonly tool: string;
  readonly toolVersion: string;
  readonly status: TaskStatus;
  /** Set aside because no worker can go on with it at present. */
  readonly blocked?: string;
  readonly statusMessage?: string;
  readonly progress?: Progress;
  /** What is stored of it cannot be read: little more than its id, owner and tool is known. */
  readonly isCorrupt?: true;
  /** One line about how it ended, if not well. */
  readonly problem?: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly finishedAt?: number;
  /** Its caller waits for the plain result, and was given no task id. */
  readonly plainCall?: true;
  readonly deadlineAt: number | null;
  readonly parentId?: TaskId;
  readonly rootId: TaskId;
  readonly childCount: number;
  readonly liveChildCount: number;
  readonly openQuestions: number;
  /** Passes begun so far. */
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
  /** The end of the bucket that has begun: a little later than now. */
  readonly until: number;
  /** Where a person is waited for, the newest first, a few; subtasks too. */
  readonly waiting: readonly TaskSummary[];
  /** What failed or was lost, the newest first, a few. */
  readonly failing: readonly TaskSummary[];
}

/** Everything that is known of one task. */
export interface TaskDetails {
  readonly task: TaskSummary;
  readonly origin: { readonly dialect: string; readonly method: string };
  readonly arguments: Json;
  /** Present once it is done; a large value is left out (null, `isLarge`): `result` has it. */
  readonly outcome?: Outcome & { readonly isLarge?: true };
  /** When it may be purged; null if not known yet, or never. */
  readonly purgeAt: number | null;
  readonly wakeAt: number | null;
  /** Who advances it now. */
  readonly worker?: { readonly name: string; readonly leaseUntil: number };
  readonly retryOf?: TaskId;
  readonly retriedAs?: TaskId;
  /** From the root down to its parent. */
  readonly ancestors: readonly { readonly id: TaskId; readonly tool: string }[];
  /** In the order of their start; at most 500. */
  readonly children: readonly TaskSummary[];
  readonly passes: readonly PassSpan[];
  /** In the order in which they were made; of very many those in the middle that have settled are left out. */
  readonly calls: readonly CallSpan[];
  readonly omittedCalls: number;
  readonly questions: readonly Question[];
  /** What happened, in order; of very long stories the middle is left out. */
  readonly events: readonly HistoryEvent[];
  readonly omittedEvents: number;
  readonly audit: readonly AuditEntry[];
}

/** A stretch of time in which one process advanced the task. */
export interface PassSpan {
  /** Counted from 1: the epoch. */
  readonly number: number;
  readonly holder: string;
  readonly from: number;
  /** Null while it runs. */
  readonly to: number | null;
  /**
   * `parked`: nothing to do until something happens; `released`: handed over in order; `crashed`: its process died or
   * fell silent, and another took over; `ended`: the task is done; `running`.
   */
  readonly end: 'running' | 'parked' | 'released' | 'crashed' | 'ended';
  /** How many settled calls this pass went through again without doing them again. */
  readonly replayed: number;
}

/** One call of the handler on its task: a step, a wait, a question, a subtask. */
export interface CallSpan {
  readonly kind: 'step' | 'ask' | 'start' | 'result' | 'sleep' | 'until' | 'event';
  readonly name: string;
  /** In which pass it was first made. */
  readonly pass: number;
  readonly from: number;
  /** Null while it is open; of one that never settled, the end of its task. */
  readonly to: number | null;
  readonly state: 'open' | 'ok' | 'failed';
  /** Tries that failed before, each with when it is or was repeated. */
  readonly attempts: readonly { readonly at: number; readonly message: string; readonly retryAt: number }[];
  /** What it gave, shortened; values of tools whose secrets are not known are hidden. */
  readonly value?: Json;
  readonly error?: string;
  /** Of a question. */
  readonly key?: string;
  /** Of a subtask. */
  readonly childId?: TaskId;
  /** When a timer, or the patience for it, ends. */
  readonly due?: number;
}

/** One turn of the conversation. */
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
   * These trees changed; each is told as its root stands now. `subtasks`: those that began to ask, were answered or
   * asked in vain, as they stand now. `removed`: roots that are gone, with all below them.
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
 * The requests, below `/operator/api`. Each needs `Authorization: Bearer TOKEN`; those that change something also
 * `Content-Type: application/json`. Errors are `{ error: { message } }` with a fitting status.
 *
 *     GET  /about
 *     GET  /tasks?status=failed&status=lost&tool=&owner=&since=&until=&text=&limit=&cursor=
 *     GET  /count?…                     the same filters
 *     GET  /overview?window=3600000     milliseconds
 *     GET  /tasks/ID                    the story
 *     GET  /tasks/ID/result
 *     GET  /changes                     text/event-stream; Last-Event-ID goes on
 *     POST /tasks/ID/cancel             { reason? }
 *     POST /tasks/ID/retry              {}
 *     POST /tasks/ID/answer             { key, response }
 *     POST /tasks/ID/purge              {}
 */
export const apiPath = '/operator/api';

/** Where the dashboard is. */
export const dashboardPath = '/operator/';
