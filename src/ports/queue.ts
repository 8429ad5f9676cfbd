/**
 * The port for dispatch: notifications of new work, leases, and the detection of dead processes. Claiming is a
 * command of the store (`Store.claim`). `testQueue()` in `holdfast/store/testing` tests every implementation.
 */
import type { Json } from '../model/json.ts';
import type { Task, TaskId } from '../model/task.ts';
import type { Audit } from './audit.ts';
import type { Calls } from './calls.ts';
import type { TaskQueries } from './query.ts';
import type { Sessions } from './sessions.ts';
import type { Store } from './store.ts';
import type { StoreError } from './store-errors.ts';

export interface Queue {
  /** The name of this process, unique among the processes that share the database. Its claims carry this name. */
  readonly name: string;

  /** The default lease on this database. If it is absent, the engine uses its own default. */
  readonly usualLeaseMs?: number;

  /**
   * False once the process of that name is known to be dead. While that is uncertain, the answer is true; with
   * `'certain'`, the call waits until it is certain.
   */
  isAlive(name: string, certainty?: 'certain'): Promise<boolean>;

  /**
   * Tasks that have been ready since before `readySince` and belong to none of these tools: probably no worker runs
   * them.
   */
  orphans(tools: readonly ToolVersion[], readySince: number, limit: number): Promise<TaskId[]>;

  /** Extends the leases to `leaseMs` from now. Returns the claims that were lost: their passes must stop. */
  renew(claims: readonly Claim[], leaseMs: number): Promise<Claim[]>;

  /**
   * Reserves the exclusive right to run alone until the claim ends. Only one task of the whole database can have it.
   * Returns false if another task has it, or if the claim was lost.
   */
  isolate(claim: Claim): Promise<boolean>;

  /** How much work is waiting, for metrics. Each count stops at `most`. */
  backlog(tools: readonly ToolVersion[], most: number): Promise<Backlog>;

  /**
   * Calls back whenever there may be tasks to claim: work arrived, a timer came due, or a worker died. Returns a
   * function that unsubscribes.
   */
  onWork(listener: () => void): () => void;
}

/** A worker's right to run a task. A later claim has a greater epoch, and commits under an older one are refused. */
export interface Claim {
  readonly taskId: TaskId;
  readonly epoch: number;
}

export interface ToolVersion {
  readonly tool: string;
  readonly version: string;
}

export interface Backlog {
  /** The number of ready tasks of these tools that no worker has claimed. */
  readonly ready: number;
  /** Since when the oldest of them has been ready. Null if there is none. */
  readonly readySince: number | null;
  /** The number of tasks of any tool that have an open question. */
  readonly waiting: number;
}

/** The evidence that a worker lost its claim: its process is dead, or its lease expired. */
export interface FreedWorker {
  readonly name: string;
  /**
   * The end of the lease that expired. The rule compares it with the task: a lease that was renewed since is still
   * valid. Absent if the process is dead.
   */
  readonly leaseUntil?: number;
}

/** Secrets that all processes on the same database share. `testSecrets()` tests every implementation. */
export interface Secrets {
  /** Returns 32 random bytes. The first call with a name creates them; later calls return the same bytes. */
  get(name: string): Promise<Uint8Array>;
}

/** All ports of one database. */
export interface Database {
  readonly store: Store;
  readonly queue: Queue;
  readonly secrets: Secrets;
  readonly sessions: Sessions;
  readonly calls: Calls;
  readonly audit: Audit;
  readonly queries: TaskQueries;
  /**
   * Calls back when a connection was lost, even if its open commands then succeed on another connection. Absent if the
   * database has no connections.
   */
  onDisconnected?(listener: (error: StoreError) => void): void;
  close(): Promise<void>;
}

/** A claimed task, as it was when its pass began. */
export interface Claimed {
  readonly claim: Claim;
  readonly task: Task;
  /** The whole journal, if the store read or wrote it together with the claim. */
  readonly journal?: readonly Json[];
}
