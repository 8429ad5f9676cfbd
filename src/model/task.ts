/**
 * The stored task, independent of any dialect. What a peer sees is computed from it. All times are in milliseconds
 * since 1970.
 *
 * Phases:
 * - `queued`: no pass has begun
 * - `running`: a pass has begun, and the task is neither waiting nor done. A task that is parked on a timer or subtask,
 *   that backs off, or that lost its worker is still running.
 * - `waiting`: at least one question of the task itself is open
 * - `done`: final
 *
 * The phase does not depend on whether a worker has claimed the task.
 */
import { newId } from './id.ts';
import type { InputKind, InputRecord, OpenInput, SettledInput } from './input.ts';
import type { Json } from './json.ts';
import type { Outcome } from './outcome.ts';
import type { Retention } from './retention.ts';
import type { TaskTrace } from './trace.ts';

export type TaskId = string;

/** The identity that may see a task. */
export type Owner = string;

/** The request that created a task, as far as later messages about the task depend on it. */
export interface Origin {
  readonly dialect: string;
  readonly method: string;
  /** The name that the caller used, if it is not the name of the tool: a gateway runs many tools through one. */
  readonly calledAs?: string;
  /** The kinds of questions that the caller declared it can answer. Absent if it can answer any. */
  readonly answers?: readonly InputKind[];
  /** The caller's progress token, and the session in which it is valid. */
  readonly progress?: { readonly token: string | number; readonly session: string };
  /** The id that the caller chose for the task (SEP-1686), its request, and the session in which both are valid. */
  readonly named?: { readonly taskId: string; readonly session: string; readonly requestId: string | number };
  /** The trace context, for any process that continues the task. */
  readonly trace?: TaskTrace;
  /** The task that an operator reran as this one. */
  readonly retryOf?: TaskId;
}

/** The request that a task belongs to until its id is sent. */
export interface Unpublished {
  /** The process that serves the request. Null between rounds of the request, while its caller answers a question. */
  readonly servedBy: string | null;
  /** The deadline that the task will have once it is published. */
  readonly deadlineAt: number | null;
  /** Present if a repeated call can join the task, which then survives the process that serves its request. */
  readonly join?: Join;
  /**
   * Identifies the call (`newCall`), if no call can join the task but its client may cancel it through another process.
   */
  readonly call?: string;
  /** The client cancelled its request through another process. The process that serves the request sends no answer. */
  readonly isCancelled?: true;
  /** How long the task is kept after its result was delivered. By default it is removed at once. */
  readonly keepMs?: number;
}

/** Which calls can join the task of a plain call whose result was not delivered. */
export interface Join {
  /**
   * A digest of the caller, the tool, its version and the arguments. Null once the call was continued with a request
   * state: no other call can join it after that.
   */
  readonly key: string | null;
  /** The session of the call; null if it had none. */
  readonly session: string | null;
  /** Identifies the call that created the task. */
  readonly call: string;
}

/** The join data of a call that was not continued. */
export type NewJoin = Join & { readonly key: string };

/** The `answering()` text of the call that an unpublished task answers. Null if none is served by a process now. */
export function answeringOf({ unpublished }: Task): string | null {
  const { servedBy, join, call = join?.call } = unpublished ?? {};
  return typeof servedBy === 'string' && call !== undefined ? answering(servedBy, call) : null;
}

/**
 * The length of the digest that identifies a request in a session, in characters. Indexes in databases depend on it.
 */
export const requestLength = 22;

/** Creates the id of a call. `request` identifies the request in its session; the id ends with it. */
export function newCall(request: string | undefined): string {
  return request === undefined ? newId() : `${newId()}.${request}`;
}

/** A text that names a call and the process that serves it. Databases store it: see `Calls`. */
export function answering(process: string, call: string): string {
  return `${process}/${call}`;
}

/** The process in an `answering()` text. Empty if the call was cancelled: no other call can take over its task. */
export function processAnswering(answering: string): string {
  return answering.slice(0, answering.lastIndexOf('/'));
}

/** The `answering()` text of the same call after it was cancelled. */
export function cancelledAnswering(answering: string): string {
  return answering.slice(answering.lastIndexOf('/'));
}

/** The worker that runs the task now. The epoch, not the lease, decides whether a commit is accepted. */
export interface TaskWorker {
  readonly name: string;
  /** When it claimed the task. */
  readonly since: number;
  /** How long the lease lasts without a renewal. */
  readonly leaseMs: number;
  /**
   * The end of the lease, by the clock of the store. Every renewal changes it. Rules may only compare it for equality:
   * only a store can decide whether a lease has expired.
   */
  readonly leaseUntil: number;
  /** The task runs alone in its process: if the process dies now, this task killed it. */
  readonly isAlone?: true;
}

/** The claim that a worker requests. */
export type NewTaskWorker = Pick<TaskWorker, 'name' | 'leaseMs'>;

export interface Progress {
  readonly done: number;
  readonly total?: number;
  readonly message?: string;
}

interface TaskCore {
  readonly id: TaskId;
  readonly owner: Owner;
  readonly tool: string;
  readonly toolVersion: string;
  readonly origin: Origin;

  readonly rootId: TaskId;
  readonly parentId?: TaskId;
  /** The position among the parent's subtasks. Replay depends on it, so it never changes. */
  readonly ordinal: number;
  /** The number of ancestors: 0 for a root. */
  readonly depth: number;
  /** The number of direct subtasks that were ever started. */
  readonly childCount: number;
  readonly liveChildCount: number;

  readonly createdAt: number;
  /** The last change that a peer can see: status, message, progress or subtasks, but not claims or journal entries. */
  readonly updatedAt: number;
  /**
   * While the task is unpublished and cannot be joined, this is at most the time until which its request is surely
   * open.
   */
  readonly deadlineAt: number | null;
  readonly unpublished?: Unpublished;
  /** Present from the hand-over of a plain call until the answer with the task's id was delivered. */
  readonly handedOver?: Join;
  readonly retention: Retention;
  readonly idempotency?: { readonly key: string; readonly argumentsDigest: string };

  readonly statusMessage?: string;
  readonly progress?: Progress;
  readonly pollMs?: number;
  /** Every question of this task, open or settled, in the order in which they were asked. No key is used twice. */
  readonly inputs: readonly InputRecord[];

  /** The events that were sent to the task, by name. Only the first value of each name counts. */
  readonly completions?: Readonly<Record<string, Json>>;
  /** How many consecutive passes lost their worker (it died or its lease expired) and added nothing to the journal. */
  readonly crashes?: number;
  /** How many of these passes ran alone in their process. */
  readonly crashesAlone?: number;
  /** The epoch of the last pass that added to the journal. */
  readonly recordedIn?: number;
  /** Why no worker can continue the task at present, and how often workers tried. */
  readonly blocked?: { readonly message: string; readonly times: number };

  /** Grows by one with every commit of this task. */
  readonly version: number;
  /** The number of claims so far, and so of the current or last pass. Commits under an older epoch are refused. */
  readonly epoch: number;
}

interface LiveTask extends TaskCore {
  readonly worker?: TaskWorker;
  /** A worker may claim the task now, whatever the time. `wakeAt` is then the time since when, and not a timer. */
  readonly isReady?: true;
  /**
   * The time from which a worker may claim the task. Null while it is parked until a question, event or subtask wakes
   * it.
   */
  readonly wakeAt: number | null;
  /** The outcome of the handler, kept until the last subtask is done. */
  readonly heldOutcome?: Outcome;
}

export interface QueuedTask extends LiveTask {
  readonly phase: 'queued';
  readonly inputs: readonly [];
}

export interface RunningTask extends LiveTask {
  readonly phase: 'running';
  readonly inputs: readonly SettledInput[];
}

export interface WaitingTask extends LiveTask {
  readonly phase: 'waiting';
}

export interface DoneTask extends TaskCore {
  readonly phase: 'done';
  readonly inputs: readonly SettledInput[];
  readonly outcome: Outcome;
  readonly finishedAt: number;
  /** When the whole tree may be purged. Null without limit, and for subtasks: they are purged with their root. */
  readonly purgeAt: number | null;
}

export type ActiveTask = QueuedTask | RunningTask | WaitingTask;
export type Task = ActiveTask | DoneTask;
export type Phase = Task['phase'];

/** The join data of the task of a plain call. Undefined if it has none. */
export function joinOf({ unpublished, handedOver }: Task): Join | undefined {
  return unpublished?.join ?? handedOver;
}

/** The key by which repeated calls find the task. Null if no call may join it. */
export function joinKeyOf(task: Task): string | null {
  const isCancelled = task.phase === 'done' && task.outcome.kind === 'cancelled';
  return isCancelled ? null : (joinOf(task)?.key ?? null);
}

export function openInputs(task: Task): OpenInput[] {
  return (task.inputs as readonly InputRecord[]).filter((input) => input.state === 'open');
}

/** What is needed to create a task. */
export interface NewTask
  extends Pick<
    TaskCore,
    'id' | 'owner' | 'tool' | 'toolVersion' | 'origin' | 'retention' | 'pollMs' | 'idempotency'
  > {
  readonly arguments: Json;
  /** The maximum lifetime, counted from creation. Null without limit. */
  readonly deadlineMs: number | null;
  /** Present if the task is not published yet. `until` is the time until which its request is surely open. */
  readonly unpublished?: Omit<Unpublished, 'deadlineAt'> & { readonly until: number };
}

/** The poll interval that a caller is asked to use: the author's, or else a longer one for long work. */
export function pollHintMs(task: Task, now: number): number {
  const until = task.phase === 'done' ? task.finishedAt : now;
  return task.pollMs ?? (until - task.createdAt > 60_000 ? 5_000 : 1_000);
}
