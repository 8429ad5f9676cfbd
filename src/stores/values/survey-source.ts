/** What a database gives to its surveyor: rows in small portions, so that nobody has to wait for a large one. */
import type { DamagedTask, HistoryCommit, SurveyFilter } from '../../engine/survey.ts';
import type { Standing } from '../../model/standing.ts';
import type { Owner, Task, TaskId } from '../../model/task.ts';

/** Which rows, each the newest first. `tool` and `standing` are of roots that have ended. */
export type Lane =
  | { readonly of: 'all' }
  | { readonly of: 'owner'; readonly owner: Owner }
  | { readonly of: 'tool'; readonly tool: string }
  | { readonly of: 'standing'; readonly standing: Standing }
  /** Those of which only the body tells how they stand. */
  | { readonly of: 'unknown' }
  /** Subtasks with an open question; roots that have one are passed too, and not seen here. */
  | { readonly of: 'asking' };

/** What is to be known of rows: their bodies only if they fit as far as columns tell, or if these do not tell enough. */
export interface Wanted {
  readonly filter: SurveyFilter;
  /** Whether the bodies of rows that fit are wanted at all. */
  readonly bodies: boolean;
}

/** A row that is looked at. What stands in columns costs little; `read` opens the body. */
export interface PassedRow {
  readonly seq: number;
  /** Not unpublished, and no subtask except where those that ask are looked for. Of others only the number is told. */
  readonly isSeen: boolean;
  readonly id: TaskId;
  readonly owner: Owner;
  readonly tool: string;
  /** A code; see `standing-codes.ts`. */
  readonly standing: number;
  readonly createdAt: number | null;
  /** How long the body is. */
  readonly length: number;
  readonly read: () => Task | DamagedTask;
  readonly statusMessage: () => string | undefined;
}

/** Some rows of a lane, the newest first. */
export interface Portion {
  readonly rows: readonly PassedRow[];
  /** There are no more. */
  readonly isEnd: boolean;
}

/** A stretch of time; its end is not in it. */
export interface Stretch {
  readonly from: number;
  readonly until: number;
}

/** How many tasks of a tool ended, by their kinds; see `tally.ts`. */
export interface EndedSums {
  readonly tool: string;
  readonly kinds: Uint16Array;
  readonly counts: Uint32Array;
}

export interface LiveGroup {
  readonly tool: string;
  readonly standing: number;
  readonly count: number;
}

export interface SurveySource {
  /** Lets others have their turn, where there are others. */
  turn(): Promise<void>;
  /** Rows of a lane below a number, at most `limit`, and fewer if they are long. */
  rows(lane: Lane, before: number, limit: number, wanted: Wanted): Promise<Portion>;
  /** These rows, as far as they are there; the newest first. */
  rowsAt(seqs: readonly number[], wanted: Wanted): Promise<Portion['rows']>;
  find(id: TaskId): Promise<Task | DamagedTask | undefined>;
  /** The youngest of those up to this number, whoever may see it; undefined if there is none. */
  youngestUpTo(seq: number): Promise<{ readonly seq: number; readonly createdAt: number } | undefined>;
  /** Whether an owner has few enough tasks to go through all of them. */
  hasFew(owner: Owner): Promise<boolean>;
  /** Whether there are rows of which only the body tells how they stand. */
  hasUnknown(): Promise<boolean>;

  /** Numbers of live roots with one of these standings; undefined if there are more than can be gathered. */
  live(standings: readonly number[], owner: Owner | undefined): Promise<number[] | undefined>;
  /** Of roots. */
  liveGroups(owner: Owner | undefined): Promise<readonly LiveGroup[]>;
  /** Of subtasks with an open question. */
  askingGroups(owner: Owner | undefined): Promise<readonly LiveGroup[]>;
  /** Since when the task that has been ready for longest could have run. */
  readySince(owner: Owner | undefined, now: number): Promise<number | null>;

  /** Counts roots that have ended and fit as far as columns tell, until `isEnough`. */
  countEnded(filter: SurveyFilter, isEnough: (count: number) => boolean): Promise<SurveyedCount>;
  /** Sums up the roots that ended in each of these stretches; several sums may be of the same tool. */
  ended(query: {
    readonly owner: Owner | undefined;
    readonly stretches: readonly Stretch[];
    readonly take: (stretch: number, sums: EndedSums) => void;
  }): Promise<void>;

  /** Commits of a task after a version, in order, as many as fit; undefined if there is no such task. */
  history(
    id: TaskId,
    afterVersion: number,
    limit: number,
  ): Promise<{ readonly commits: readonly HistoryCommit[]; readonly version: number } | undefined>;
}

export interface SurveyedCount {
  readonly count: number;
  /** Nothing is left to be counted. */
  readonly isAll: boolean;
}

/** So many rows are gone through at any time. */
export const few = 10_000;
/** How much text one portion may hold: what is parsed at once holds up everybody else. */
export const portionLength = 256 * 1024;
/** How much text a page of a history may hold. */
export const historyLength = 1024 * 1024;
