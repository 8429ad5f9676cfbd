/**
 * The port for persistence. A store keeps tasks, their journals and the order of their commits. It decides nothing.
 *
 * Rules are pure functions that the caller passes as `decide`. For each command the store reads what the rule needs,
 * runs the rule, and writes the whole `Change` or nothing. Commands must be serializable: the result is as if no two of
 * them ran at the same time. A store may call `decide` more than once for one command.
 *
 * When the promise of `create`, `update` or `claim` resolves, the change survives a crash of the process and of the
 * machine. `testStore()` in `holdfast/store/testing` tests every implementation.
 */
import type { TaskEvent } from '../model/event.ts';
import type { Json } from '../model/json.ts';
import type { Owner, Task, TaskId } from '../model/task.ts';
import type { Change, Family, Lineage, Verdict } from './change.ts';
import type { FreedWorker, ToolVersion } from './queue.ts';

export interface Store {
  /**
   * Creates a task. If a task with this idempotency key or id exists, `decide` receives it. Without an `identity`,
   * there is nothing to find. Rejects with the refusal of the rule.
   */
  create(
    identity: IdempotencyScope | { readonly id: TaskId } | undefined,
    decide: (existing: Task | undefined) => Verdict,
  ): Promise<Change>;

  /**
   * Changes a task. `reach` names the relatives that the store reads for the rule. Rejects with the refusal of the
   * rule, and with `TASK_NOT_FOUND` if the task does not exist.
   */
  update<R extends keyof Reach>(
    reach: R,
    id: TaskId,
    decide: (subject: Reach[R]) => Verdict,
  ): Promise<Change>;

  /**
   * Claims ready tasks. The store selects them fairly, one owner after the other, and runs the rule on each of them in
   * its transaction. It skips tasks that the rule refuses.
   */
  claim(query: ClaimQuery, decide: ClaimRule): Promise<Claims>;

  /**
   * Returns the task, or undefined if it does not exist. With `owner`, also undefined if the task belongs to another
   * owner. Both cases must take equally long, so that a caller cannot find out whether the task exists: check the owner
   * before you read the body.
   */
  get(id: TaskId, owner?: Owner): Promise<Task | undefined>;

  /** The task with all its ancestors and descendants, or undefined if it does not exist. */
  family(id: TaskId): Promise<Family | undefined>;

  /**
   * The descendants of a root that have an open question, and the tasks between them and the root; parents before their
   * children. The cost must not depend on the number of other subtasks.
   */
  asking(rootId: TaskId): Promise<Task[]>;

  /** The ids of the direct subtasks, by ordinal. */
  childIds(id: TaskId): Promise<TaskId[]>;

  /**
   * The published root tasks of an owner, newest first. A large result may be left out (null here, and complete in
   * `get`).
   */
  list(query: ListQuery): Promise<Page>;

  /**
   * The number of root tasks (`stored`) or live root tasks (`live`) of one owner or of all. Counting stops at `upTo`.
   */
  count(owner: Owner | undefined, what: 'live' | 'stored', upTo: number): Promise<number>;

  /** The commits of a task after `afterVersion`, oldest first, at most `limit`. */
  commitsOf(id: TaskId, afterVersion: number, limit: number): Promise<CommitOfTask[]>;

  /** All entries of the task's journal, in commit order. */
  journal(id: TaskId): Promise<Json[]>;

  /**
   * Tasks for housekeeping, at most `limit`, oldest first:
   * - `deadline`: live tasks past their deadline
   * - `purge`: finished roots past their retention
   * - `oldest`: finished published roots, whatever their retention
   */
  due(what: Due, now: number, limit: number): Promise<TaskId[]>;

  /**
   * Deletes passes that did nothing (`TaskWrite.isIdle`) and ended before `before` from histories, at most `limit`.
   * Returns how many it deleted. `commitsOf` and `TaskQueries.history` then skip their versions.
   */
  leaveOut(before: number, limit: number): Promise<number>;

  /**
   * An estimate of the bytes that the stored data takes up. Free space that the database will reuse does not count.
   * Must be cheap, however much is stored.
   */
  size(): Promise<number>;

  /**
   * Calls back for every commit from now on, including those of other processes. Commits of one task arrive in order
   * and at least once, so the same version may arrive again. Returns a function that unsubscribes.
   */
  subscribe(listener: (commit: CommittedChange) => void): () => void;

  close(): Promise<void>;
}

export type Due = 'deadline' | 'purge' | 'oldest';

/** Which relatives of a task a rule receives. */
export interface Reach {
  readonly task: Task;
  readonly lineage: Lineage;
  readonly family: Family;
}

/** `freed` is the evidence that the previous worker lost its claim. Undefined if there was none. */
export type ClaimRule = (task: Task, freed: FreedWorker | undefined) => Verdict;

export interface ClaimQuery {
  /** Only tasks of these tools and versions. */
  readonly tools: readonly ToolVersion[];
  readonly limit: number;
  /**
   * Tasks that this process is running. The store must not take them over from this process, even if their leases have
   * expired. It may claim them if no worker holds a claim.
   */
  readonly running: ReadonlySet<TaskId>;
  /** Tasks that this process must not claim, for example because it still runs a step of an earlier claim. */
  readonly except: ReadonlySet<TaskId>;
}

export interface Claims {
  /** The committed claims. */
  readonly claimed: readonly ClaimedChange[];
  /** Selected tasks that could not be claimed, because their records are corrupt or the rule threw. */
  readonly failed: readonly { readonly taskId: TaskId; readonly error: unknown }[];
}

export interface ClaimedChange {
  readonly change: Change;
  /** The whole journal, if the store read it with the task. Saves a call of `Store.journal`. */
  readonly journal?: readonly Json[];
}

export interface IdempotencyScope {
  readonly owner: Owner;
  readonly tool: string;
  readonly key: string;
}

export interface ListQuery {
  readonly owner: Owner;
  readonly limit: number;
  /** `nextCursor` of the previous page. */
  readonly cursor?: string;
}

export interface Page {
  readonly tasks: readonly Task[];
  /** Present if and only if there are more tasks. */
  readonly nextCursor?: string;
  /** Tasks of this page that are left out because their records are corrupt. */
  readonly corrupt?: readonly TaskId[];
}

export interface CommitOfTask {
  /**
   * The task's version after the commit. It grows by one with each commit, and skips only versions that were left out.
   */
  readonly version: number;
  readonly events: readonly TaskEvent[];
}

export interface CommittedChange extends CommitOfTask {
  readonly taskId: TaskId;
  /** The root of the task's tree. */
  readonly rootId: TaskId;
  readonly at: number;
}
