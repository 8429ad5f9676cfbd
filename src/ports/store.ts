/**
 * The persistence port. A store keeps tasks, their journals and the order of their commits; it decides nothing.
 * Rules are handed in as pure functions: the store reads what they need, lets them decide, and writes the whole
 * change or none of it, as if no other command ran at the same time. A `decide` may be called more than once.
 *
 * A promise that `create` or `update` resolves stands for a change that survives the process and the machine.
 * `testStore()` in `holdfast/testing` examines every implementation.
 */
import type { TaskEvent } from '../model/event.ts';
import type { Json } from '../model/json.ts';
import type { Owner, Task, TaskId } from '../model/task.ts';
import type { Change, Family, Lineage, Verdict } from './change.ts';
import type { FreedWorker, ToolVersion } from './queue.ts';

export interface Store {
  /** Makes a task. `decide` is given the task that already bears the idempotency key or the id, if there is one. */
  create(
    bearing: IdempotencyScope | { readonly id: TaskId } | undefined,
    decide: (existing: Task | undefined) => Verdict,
  ): Promise<Change>;

  /** Changes a task, reading as far around it as the rule must see. Rejects with the rule's refusal. */
  update<R extends keyof Reach>(
    reach: R,
    id: TaskId,
    decide: (subject: Reach[R]) => Verdict,
  ): Promise<Change>;

  /**
   * Claims tasks that have work. The store selects them, owners taking turns, and runs the rule on each in its
   * transaction. Tasks that the rule refuses are passed over.
   */
  claim(query: ClaimQuery, decide: ClaimRule): Promise<Claims>;

  /**
   * A task; with an owner only if it is that owner's. A task of another must take no longer to be refused than one that
   * is not there, however large it is: nothing of it may be read before its owner is known.
   */
  get(id: TaskId, owner?: Owner): Promise<Task | undefined>;

  family(id: TaskId): Promise<Family | undefined>;

  /**
   * The tasks below a root that have a question open, and those between them and the root; parents before their children.
   * Must not cost more if other subtasks are many.
   */
  asking(rootId: TaskId): Promise<Task[]>;

  /** The ids of a task's own subtasks, in their order. */
  childIds(id: TaskId): Promise<TaskId[]>;

  /** Published root tasks of an owner, the newest first. Large results may be left out (their value is null); `get` has them. */
  list(query: ListQuery): Promise<Page>;

  /** How many root tasks an owner has, or all owners, or how many of them are live; no more than `upTo` are counted. */
  count(owner: Owner | undefined, what: 'live' | 'stored', upTo: number): Promise<number>;

  /** What happened to a task after that version, in order: so many commits of it at most. */
  commitsOf(id: TaskId, afterVersion: number, limit: number): Promise<CommitOfTask[]>;

  /** Everything that was ever appended to the task's journal, in commit order. */
  journal(id: TaskId): Promise<Json[]>;

  /**
   * Live tasks past their deadline, finished roots past their retention, or (`oldest`) published roots that have ended,
   * whatever their retention; what came due, or ended, first comes first.
   */
  due(what: Due, now: number, limit: number): Promise<TaskId[]>;

  /**
   * Leaves passes that did nothing and ended before that moment out of histories (`TaskWrite.isIdle`), so many at most.
   * Returns how many.
   */
  leaveOut(before: number, limit: number): Promise<number>;

  /**
   * How many bytes all that it holds takes up, roughly; space that was freed and will be used again does not count.
   * Must cost little, however much there is.
   */
  size(): Promise<number>;

  /**
   * Hears of every commit from now on, those of other processes included: in order per task and at least once. A version
   * that was heard already may come again.
   */
  subscribe(listener: (commit: CommittedChange) => void): () => void;

  close(): Promise<void>;
}

export type Due = 'deadline' | 'purge' | 'oldest';

/** How far around a task a rule must see. */
export interface Reach {
  readonly task: Task;
  readonly lineage: Lineage;
  readonly family: Family;
}

/** `freed` is the evidence that the previous holder lost its right. */
export type ClaimRule = (task: Task, freed: FreedWorker | undefined) => Verdict;

export interface ClaimQuery {
  readonly tools: readonly ToolVersion[];
  readonly limit: number;
  /** Tasks that this process runs: it does not take them from itself, whatever their leases say. Free ones it claims. */
  readonly running: ReadonlySet<TaskId>;
  /** Tasks that this process must not claim, for instance because it still runs a step of them. */
  readonly except: ReadonlySet<TaskId>;
}

export interface Claims {
  /** Every change that was committed. */
  readonly claimed: readonly ClaimedChange[];
  /** Tasks that were selected and could not be claimed: their records are damaged, or the rule threw. */
  readonly failed: readonly { readonly taskId: TaskId; readonly error: unknown }[];
}

export interface ClaimedChange {
  readonly change: Change;
  /** The whole journal, if the store has read it with the task. */
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
  /** Where the previous page ended. */
  readonly cursor?: string;
}

export interface Page {
  readonly tasks: readonly Task[];
  /** Present if and only if there is more. */
  readonly nextCursor?: string;
  /** Tasks that belong here and are left out, because their records are damaged. */
  readonly corrupt?: readonly TaskId[];
}

export interface CommitOfTask {
  /** The task's version after the commit: one more than that of the commit before it. */
  readonly version: number;
  readonly events: readonly TaskEvent[];
}

export interface CommittedChange extends CommitOfTask {
  readonly taskId: TaskId;
  /** The root of the tree that it is part of. */
  readonly rootId: TaskId;
  readonly at: number;
}
