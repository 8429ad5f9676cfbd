/**
 * The port for operators' queries over all tasks. It only reads, and does not block the event loop for longer than a few
 * milliseconds, however many tasks there are: a page that would take too long ends early, and its cursor continues.
 * Queries return roots, plain calls among them. Subtasks belong to their root, with one exception: a query for `waiting`
 * also returns subtasks with an open question, because questions are answered where they are asked.
 * `testQueries()` in `holdfast/testing` tests every implementation.
 */
import type { Json } from '../model/json.ts';
import type { TaskStatus } from '../model/status.ts';
import type { Owner, Task, TaskId } from '../model/task.ts';
import type { CommitOfTask } from './store.ts';

export interface TaskQueries {
  /** Tasks, the newest first. Large results may be left out (their value is null). */
  list(query: TaskFilter & { readonly limit: number; readonly cursor?: string }): Promise<QueryPage>;

  /** How many tasks fit. Counting ends at `upTo`, or when it takes too long. */
  count(filter: TaskFilter, upTo: number): Promise<TaskCount>;

  /**
   * The live tasks, and those that ended between `since` and `until`, in `buckets` of equal length. Buckets that are over
   * may be cached, so that a removed task is still counted.
   */
  overview(query: OverviewQuery): Promise<Overview>;

  /** The commits of a root or subtask in order: what happened, and what its journal gained. */
  history(
    id: TaskId,
    query: { readonly afterVersion: number; readonly limit: number },
  ): Promise<HistoryPage | undefined>;
}

/** A task fits if all of it does. */
export interface TaskFilter {
  readonly owner?: Owner;
  readonly tool?: string;
  /** With `waiting`, subtasks that have an open question fit too, at any depth. */
  readonly statuses?: readonly TaskStatus[];
  /** Created at this moment or later. */
  readonly since?: number;
  /** Created before this moment. */
  readonly until?: number;
  /** Part of the id, the tool, the owner or the status message, in upper or lower case. A whole id finds subtasks too. */
  readonly text?: string;
}

/** A task whose record is damaged: what its columns tell. */
export interface CorruptTask extends Pick<Task, 'id' | 'owner' | 'tool' | 'createdAt'> {
  readonly isCorrupt: true;
  /** Not known of a subtask. */
  readonly status?: TaskStatus;
}

export function isCorrupt(task: Task | CorruptTask): task is CorruptTask {
  return 'isCorrupt' in task;
}

export interface QueryPage {
  readonly tasks: readonly (Task | CorruptTask)[];
  /** Present if there may be more. A page may be short or empty and not be the last. */
  readonly nextCursor?: string;
}

export interface TaskCount {
  readonly count: number;
  /** There may be more than were counted. */
  readonly isMore: boolean;
}

export interface OverviewQuery {
  readonly owner?: Owner;
  readonly since: number;
  readonly until: number;
  readonly buckets: number;
}

/** How many tasks are live, by standing: roots, and in `waiting` also subtasks, as in lists. */
export type LiveCounts = Readonly<Record<'queued' | 'running' | 'waiting', number>>;

/** How many have ended, by standing. */
export type EndedCounts = Readonly<Record<'completed' | 'failed' | 'cancelled' | 'lost', number>>;

/** From creation to end, of tasks that completed or failed, right to a few per cent. Null if there are none. */
export interface Durations {
  readonly medianMs: number | null;
  readonly p95Ms: number | null;
}

export interface Overview {
  readonly live: LiveCounts;
  /** Since when the task that has been ready for longest waits for a worker; null if there is none. */
  readonly readySince: number | null;
  readonly ended: EndedCounts & Durations;
  /** The first begins at `since`. */
  readonly buckets: readonly (EndedCounts & Durations)[];
  /** The busiest first. */
  readonly tools: readonly (LiveCounts & EndedCounts & Durations & { readonly tool: string })[];
}

export interface HistoryPage {
  readonly commits: readonly HistoryCommit[];
  /** The version after which the next page begins; present if there is one. */
  readonly nextVersion?: number;
}

export interface HistoryCommit extends CommitOfTask {
  readonly at: number;
  readonly journal: readonly Json[];
}
