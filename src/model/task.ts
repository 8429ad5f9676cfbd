/**
 * The stored task, free of any dialect: what a peer sees is computed from it.
 *
 * Phases: `queued`, no pass has begun; `running`, a pass has begun and the task is neither waiting nor done
 * (parked on a timer or a subtask, backing off, or released by a dead worker, it stays running); `waiting`,
 * at least one input of its own is open; `done`, final. A phase says nothing about who holds a claim.
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

/** Where a task came from, as far as later messages about it depend on that. */
export interface Origin {
  readonly dialect: string;
  readonly method: string;
  /** What the requestor calls the tool, if its name is another: a gateway carries out many tools by one. */
  readonly calledAs?: string;
  /** The kinds of questions that the requestor said it can answer; absent if it can answer any. */
  readonly answers?: readonly InputKind[];
  /** Under which token the requestor wants to hear of progress to the end, and in which session that means something. */
  readonly progress?: { readonly token: string | number; readonly session: string };
  /** What the requestor calls it, and by which request, in the session where these names mean something. */
  readonly named?: { readonly taskId: string; readonly session: string; readonly requestId: string | number };
  /** Where its trace goes on, in whichever process. */
  readonly trace?: TaskTrace;
  /** The task whose call this one makes again. */
  readonly retryOf?: TaskId;
}

/** Whose request a task belongs to as long as its id was sent to nobody. */
export interface Unpublished {
  /** The process that serves the request; null between its rounds, while its caller thinks about a question. */
  readonly servedBy: string | null;
  /** The deadline that the task will have once it is published. */
  readonly deadlineAt: number | null;
  /** Present if a repeated call can join the task, which then survives the process that serves its request. */
  readonly join?: Join;
  /** Identifies the call (`newCall`) if none can join it and its client may cancel it at another process. */
  readonly call?: string;
  /** The client cancelled its request at another process: the one that serves the request answers nothing. */
  readonly isCancelled?: true;
  /** How long the task is kept after its end, although its result was delivered. By default it is removed then. */
  readonly keepMs?: number;
}

/** Which calls can join the task of a plain call that was not delivered. */
export interface Join {
  /**
   * Stands for the caller, the tool, its version and the arguments. Null once the call is continued with a request state:
   * no other call joins it from then on.
   */
  readonly key: string | null;
  /** The session of the call; null if it had none. */
  readonly session: string | null;
  /** Identifies the call that created the task. */
  readonly call: string;
}

/** Of a call that was not continued. */
export type NewJoin = Join & { readonly key: string };

/** Which call a task answers: the process that serves it, and the call. Null if there is none to find. */
export function answeringOf({ unpublished }: Task): string | null {
  const { servedBy, join, call = join?.call } = unpublished ?? {};
  return typeof servedBy === 'string' && call !== undefined ? answering(servedBy, call) : null;
}

/** The length of what stands for the request of a call in a session. */
export const requestLength = 22;

/** An id for a call. If it came in a session, the id ends with what stands for its request. */
export function newCall(request: string | undefined): string {
  return request === undefined ? newId() : `${newId()}.${request}`;
}

export function answering(process: string, call: string): string {
  return `${process}/${call}`;
}

/** Empty if the call was cancelled: no call takes its task from there. */
export function processAnswering(answering: string): string {
  return answering.slice(0, answering.lastIndexOf('/'));
}

/** The same call, when it was cancelled. */
export function cancelledAnswering(answering: string): string {
  return answering.slice(answering.lastIndexOf('/'));
}

/** Who may advance a task now. The epoch, not the lease, decides whether a commit is accepted. */
export interface TaskWorker {
  readonly name: string;
  /** When the claim was made. */
  readonly since: number;
  /** How long the claim lasts without being renewed. */
  readonly leaseMs: number;
  /**
   * Until when, by the clock of the store. It changes with every renewal. Rules compare it for equality alone: only a
   * store can judge whether a lease has expired.
   */
  readonly leaseUntil: number;
  /** The task runs with no other beside it: if its process dies now, the task is to blame. */
  readonly isAlone?: true;
}

/** A claim that a task's next worker wants to have. */
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
  /** Position among the parent's subtasks; meaningful, and never changed. */
  readonly ordinal: number;
  readonly depth: number;
  readonly childCount: number;
  readonly liveChildCount: number;

  readonly createdAt: number;
  /** Moves with what a peer can see: status, message, progress, subtasks; not with claims or journal entries. */
  readonly updatedAt: number;
  /** While the task is unpublished and cannot be joined, no later than its request is known to be open. */
  readonly deadlineAt: number | null;
  readonly unpublished?: Unpublished;
  /** Present from the hand-over of a plain call until the answer that names the task was delivered. */
  readonly handedOver?: Join;
  readonly retention: Retention;
  readonly idempotency?: { readonly key: string; readonly argumentsDigest: string };

  readonly statusMessage?: string;
  readonly progress?: Progress;
  readonly pollMs?: number;
  /** Every question ever asked, in order; a key is never used twice. */
  readonly inputs: readonly InputRecord[];

  /** What was completed from outside, by name: the first value stands. */
  readonly completions?: Readonly<Record<string, Json>>;
  /** How many passes in a row ended with the death or the silence of their process and left no new journal entry. */
  readonly crashes?: number;
  /** How many of them had the process for themselves. */
  readonly crashesAlone?: number;
  /** The last pass that added to the journal. */
  readonly recordedIn?: number;
  /** Why no worker can go on with it at present, and how often it was tried. */
  readonly blocked?: { readonly message: string; readonly times: number };

  /** Grows by one with every commit of this task. */
  readonly version: number;
  /** Number of the current claim, and of the pass that it began. A commit under an older one is refused. */
  readonly epoch: number;
}

interface LiveTask extends TaskCore {
  readonly worker?: TaskWorker;
  /** A worker may claim it whatever the clock says: `wakeAt` then tells since when, and is no timer. */
  readonly isReady?: true;
  /** From when on a worker may claim the task; null while it is parked on something that will wake it. */
  readonly wakeAt: number | null;
  /** The handler's own outcome, held back until the last subtask is done. */
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
  /** When the whole tree may be purged; null without limit, and for subtasks, which go with their root. */
  readonly purgeAt: number | null;
}

export type ActiveTask = QueuedTask | RunningTask | WaitingTask;
export type Task = ActiveTask | DoneTask;
export type Phase = Task['phase'];

export function joinOf({ unpublished, handedOver }: Task): Join | undefined {
  return unpublished?.join ?? handedOver;
}

/** The key by which repeated calls find the task; null if none may join it. */
export function joinKeyOf(task: Task): string | null {
  const isCancelled = task.phase === 'done' && task.outcome.kind === 'cancelled';
  return isCancelled ? null : (joinOf(task)?.key ?? null);
}

export function openInputs(task: Task): OpenInput[] {
  return (task.inputs as readonly InputRecord[]).filter((input) => input.state === 'open');
}

/** What it takes to make a task. */
export interface NewTask
  extends Pick<
    TaskCore,
    'id' | 'owner' | 'tool' | 'toolVersion' | 'origin' | 'retention' | 'pollMs' | 'idempotency'
  > {
  readonly arguments: Json;
  readonly deadlineMs: number | null;
  /** Present if the task is to end with its request until it is published. */
  readonly unpublished?: Omit<Unpublished, 'deadlineAt'> & { readonly until: number };
}

/** How long a caller should wait before it looks again: what the author says, or longer for work that takes long. */
export function pollHintMs(task: Task, now: number): number {
  const until = task.phase === 'done' ? task.finishedAt : now;
  return task.pollMs ?? (until - task.createdAt > 60_000 ? 5_000 : 1_000);
}
