/**
 * The dispatch port: when there is work, how long claims last, and which processes are gone. Claiming itself is a
 * command of the store (`Store.claim`). `testQueue()` in `holdfast/testing` examines every implementation.
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
  /** This process, as the others that share the database know it: what it makes, it may claim under this name. */
  readonly name: string;

  /** How long a silent worker keeps its tasks if nobody says otherwise; absent, the engine's own default holds. */
  readonly usualLeaseMs?: number;

  /** False once a process of that name is known to be gone. With `'certain'` it waits while that is in doubt. */
  isAlive(name: string, certainty?: 'certain'): Promise<boolean>;

  /** Tasks that have been ready since before that moment and that none of these tools can run. */
  orphans(tools: readonly ToolVersion[], readySince: number, limit: number): Promise<TaskId[]>;

  /** Extends leases by `leaseMs` from now on. Returns the claims that are lost; their passes must stop. */
  renew(claims: readonly Claim[], leaseMs: number): Promise<Claim[]>;

  /**
   * Reserves the right to run alone, of which there is one for all processes, for as long as the claim lasts. False if
   * another task has it, or if the claim is lost.
   */
  isolate(claim: Claim): Promise<boolean>;

  /** What there is to do and what waits for people, for those who watch. Counts to `most` and no further. */
  backlog(tools: readonly ToolVersion[], most: number): Promise<Backlog>;

  /** Calls back whenever there may be tasks to claim: work arrived, a timer came due, a holder died. */
  onWork(listener: () => void): () => void;
}

/** A worker's right to advance a task. */
export interface Claim {
  readonly taskId: TaskId;
  readonly epoch: number;
}

export interface ToolVersion {
  readonly tool: string;
  readonly version: string;
}

export interface Backlog {
  /** Tasks of these tools that could run now and that no worker holds. */
  readonly ready: number;
  /** Since when the longest of them could; null if there is none. */
  readonly readySince: number | null;
  /** Tasks, whichever tool's, with a question open. */
  readonly waiting: number;
}

/** A holder that lost its right to a task. */
export interface FreedWorker {
  readonly name: string;
  /** The lease that expired: if it was renewed since, nothing was lost. Absent if the process is dead. */
  readonly leaseUntil?: number;
}

/** Keys that every process on the same database shares. */
export interface Secrets {
  /** Thirty-two random bytes, made when they are first asked for, and the same for ever after. */
  get(name: string): Promise<Uint8Array>;
}

/** A store with its queue, as one database provides them. */
export interface Database {
  readonly store: Store;
  readonly queue: Queue;
  readonly secrets: Secrets;
  readonly sessions: Sessions;
  readonly calls: Calls;
  readonly audit: Audit;
  readonly queries: TaskQueries;
  /** Calls back when a connection was lost, also if what was under way on it is then done on another. */
  onDisconnected?(listener: (error: StoreError) => void): void;
  close(): Promise<void>;
}

/** A task in the hands of a worker, as it was when its pass began. */
export interface Claimed {
  readonly claim: Claim;
  readonly task: Task;
  /** Its journal, if the commit that claimed it has just written or read all of it. */
  readonly journal?: readonly Json[];
}
