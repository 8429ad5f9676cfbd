/**
 * The port for operators' queries over all tasks. It only reads.
 *
 * A query blocks the event loop for a few milliseconds at most, however many tasks there are. A page that would take
 * longer ends early, and its cursor continues. Queries return root tasks, including those of plain calls. A query for
 * `waiting` also returns subtasks that have an open question, because operators answer a question on the task that asks
 * it. `testQueries()` in `holdfast/store/testing` tests every implementation.
 */
import type { Json } from '../model/json.ts';
import type { TaskStatus } from '../model/status.ts';
import type { Owner, Task, TaskId } from '../model/task.ts';
import type { CommitOfTask } from './store.ts';

export interface TaskQueries {
  /** Tasks that match the filter, newest first. A large result may be left out: its value is then null. */
  list(query: TaskFilter & { readonly limit: number; readonly cursor?: string }): Promise<QueryPage>;

  /** How many tasks match the filter. Counting stops at `upTo`, or when it takes too long. */
  count(filter: TaskFilter, upTo: number): Promise<TaskCount>;

  /**
   * Counts the live tasks, and the tasks that ended from `since` to `until`, in `buckets` of equal length. Buckets in
   * the past may be cached, and may therefore still count removed tasks.
   */
  overview(query: OverviewQuery): Promise<Overview>;

  /** The commits of a root or subtask, oldest first. Undefined if the task does not exist. */
  history(
    id: TaskId,
    query: { readonly afterVersion: number; readonly limit: number },
  ): Promise<HistoryPage | undefined>;
}

/** A task must match all fields that are present. */
export interface TaskFilter {
  readonly owner?: Owner;
  readonly tool?: string;
  /** With `waiting`, subtasks at any depth that have an open question match too. */
  readonly statuses?: readonly TaskStatus[];
  /** Created at this moment or later. */
  readonly since?: number;
  /** Created before this moment. */
  readonly until?: number;
  /** A part of the id, tool, owner or status message; case does not matter. A complete id also matches a subtask. */
  readonly text?: string;
}

/** A task whose record cannot be read: only what other columns contain. */
export interface CorruptTask extends Pick<Task, 'id' | 'owner' | 'tool' | 'createdAt'> {
  readonly isCorrupt: true;
  /** Absent for a subtask. */
  readonly status?: TaskStatus;
}

export function isCorrupt(task: Task | CorruptTask): task is CorruptTask {
  return 'isCorrupt' in task;
}

export interface QueryPage {
  readonly tasks: readonly (Task | CorruptTask)[];
  /** Present if there may be more tasks. A page can be short or empty without being the last one. */
  readonly nextCursor?: string;
}

export interface TaskCount {
  readonly count: number;
  /** Counting stopped early: there may be more. */
  readonly isMore: boolean;
}

export interface OverviewQuery {
  readonly owner?: Owner;
  readonly since: number;
  readonly until: number;
  readonly buckets: number;
}

/** The number of live tasks by status. They are roots; `waiting` also counts subtasks, as `list` does. */
export type LiveCounts = Readonly<Record<'queued' | 'running' | 'waiting', number>>;

/** The number of finished tasks by outcome. */
export type EndedCounts = Readonly<Record<'completed' | 'failed' | 'cancelled' | 'lost', number>>;

/**
 * The time from creation to end of tasks that completed or failed, accurate to a few per cent. Null if there are none.
 */
export interface Durations {
  readonly medianMs: number | null;
  readonly p95Ms: number | null;
}

export interface Overview {
  readonly live: LiveCounts;
  /** Since when the oldest ready task has been waiting for a worker. Null if no task is ready. */
  readonly readySince: number | null;
  readonly ended: EndedCounts & Durations;
  /** In order of time; the first one begins at `since`. */
  readonly buckets: readonly (EndedCounts & Durations)[];
  /** The busiest tool first. */
  readonly tools: readonly (LiveCounts & EndedCounts & Durations & { readonly tool: string })[];
}

export interface HistoryPage {
  readonly commits: readonly HistoryCommit[];
  /** The `afterVersion` of the next page. Absent on the last page. */
  readonly nextVersion?: number;
}

export interface HistoryCommit extends CommitOfTask {
  readonly at: number;
  readonly journal: readonly Json[];
}
