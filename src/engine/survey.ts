/**
 * The port of those who look over all tasks: operators. It only reads, and may take its time, but never the serving
 * event loop's: however many tasks there are, no turn of it is held for longer than a few milliseconds, and a page
 * that would take too long ends early and is gone on with by its cursor. Surveys see roots, plain calls among
 * them; subtasks belong to their root. One kind of subtask is seen where it is asked for: whoever names `waiting` looks
 * for questions, and those are answered where they are asked.
 * `testSurvey()` in `holdfast/testing` examines every implementation.
 */
import type { TaskEvent } from '../model/event.ts';
import type { Json } from '../model/json.ts';
import type { Standing } from '../model/standing.ts';
import type { Owner, Task, TaskId } from '../model/task.ts';

export interface Survey {
  /** Tasks, the newest first. Large results may be left out (their value is null). */
  list(query: SurveyFilter & { readonly limit: number; readonly cursor?: string }): Promise<SurveyPage>;

  /** How many there are; counting ends at `upTo`, or when it takes too long. */
  count(filter: SurveyFilter, upTo: number): Promise<SurveyCount>;

  /**
   * What there is now, and what ended between `since` and `until`, in `buckets` stretches of equal length. Those that are
   * over are remembered: whoever asks for the same ones again is answered at once.
   */
  overview(query: OverviewQuery): Promise<Overview>;

  /** The commits of a task, whichever its place in a tree, in order: what happened, and what its journal gained. */
  history(
    id: TaskId,
    query: { readonly afterVersion: number; readonly limit: number },
  ): Promise<HistoryPage | undefined>;
}

/** All that is said must hold. */
export interface SurveyFilter {
  readonly owner?: Owner;
  readonly tool?: string;
  /** If `waiting` is one of them, subtasks that wait for an answer are found too, at whichever depth. */
  readonly standings?: readonly Standing[];
  /** Made from this moment on. */
  readonly since?: number;
  /** Made before this moment. */
  readonly until?: number;
  /** Part of the id, the tool, the owner or the status message, in whichever case; a whole id finds subtasks too. */
  readonly text?: string;
}

/** A task whose record is damaged, as far as the columns next to it tell. */
export interface DamagedTask {
  readonly isDamaged: true;
  readonly id: TaskId;
  readonly owner: Owner;
  readonly tool: string;
  /** How it stood when it was last written, if that is known. */
  readonly standing?: Standing;
  /** Zero if it is not known. */
  readonly createdAt: number;
}

export function isDamaged(task: Task | DamagedTask): task is DamagedTask {
  return 'isDamaged' in task;
}

export interface SurveyPage {
  readonly tasks: readonly (Task | DamagedTask)[];
  /** Present if there may be more; a page may be short, or empty, and not be the last. */
  readonly nextCursor?: string;
}

export interface SurveyCount {
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

/** How many tasks are live, by standing: roots, and in `waiting` subtasks too, as in lists. */
export interface LiveCounts {
  readonly queued: number;
  readonly running: number;
  readonly waiting: number;
}

/** How many have ended, by standing. */
export interface EndedCounts {
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly lost: number;
}

/** From making to end, of those that completed or failed; to within a few per cent. Null if none did. */
export interface Durations {
  readonly medianMs: number | null;
  readonly p95Ms: number | null;
}

export interface Overview {
  readonly live: LiveCounts;
  /** Since when the task that has been ready for the longest could have run and nobody took it; null if there is none. */
  readonly readySince: number | null;
  readonly ended: EndedCounts & Durations;
  /** The first begins at `since`; each is as long as the others. */
  readonly buckets: readonly (EndedCounts & Durations)[];
  /** The busiest first. */
  readonly tools: readonly (LiveCounts & EndedCounts & Durations & { readonly tool: string })[];
}

export interface HistoryPage {
  readonly commits: readonly HistoryCommit[];
  /** The version after which to go on; present if there is more. */
  readonly nextVersion?: number;
}

export interface HistoryCommit {
  readonly version: number;
  readonly at: number;
  readonly events: readonly TaskEvent[];
  readonly journal: readonly Json[];
}
