/**
 * The interface of a dialect: one wire format for tasks. A dialect translates tasks into messages, requests into types
 * of the engine, and errors into JSON-RPC errors. It also defines which senders can receive tasks. It stores and sends
 * nothing.
 */
import type { InputKind, InputRequest } from '../model/input.ts';
import type { Json, JsonObject } from '../model/json.ts';
import type { Progress } from '../model/task.ts';
import type { Tree } from './collapse.ts';

export interface Dialect {
  /** The name of the dialect: a protocol revision, or the name of a draft. Stored in the origin of each task. */
  readonly revision: string;
  /** The task methods of the dialect. */
  readonly methods: readonly TaskMethodName[];
  /** What the sender of a request supports, according to its declared capabilities. */
  sender(capabilities: unknown): Sender;
  /** True if the sender may use the task methods. */
  admits(sender: Sender): boolean;
  /** The error if a call needs a task, but its sender does not support or request one. `what` names the tool. */
  tasksRequired(what: string): Error;
  /** The response to a call that became a task. */
  created(tree: Tree, now: number): JsonObject;
  /** The response to `tasks/get`. */
  shown(tree: Tree, now: number): JsonObject;
  /** The task as an item of `tasks/list`. */
  listed(tree: Tree, now: number): JsonObject;
  /** The notification that the task changed. Undefined if the dialect has no such notification. */
  notification(tree: Tree, now: number): { readonly method: string; readonly params: JsonObject } | undefined;
  /** The `_meta` of a message that belongs to a task, but has no other member with its id. Extends `meta`. */
  related(tree: Tree, meta?: JsonObject): JsonObject;
  /** True if callers choose the ids of tasks (SEP-1686). Such an id is only valid in the session that chose it. */
  readonly callerNamesTasks: boolean;
  /** True if the server sends questions to the client, and false if the client polls for them. */
  readonly pushesQuestions: boolean;
  /** The response to a command, such as `tasks/cancel`. It need not contain the current status of the task. */
  acknowledged(tree: Tree, now: number): JsonObject;
  /** True if cancelling a finished task is an error. Otherwise it has no effect. */
  readonly refusesLateCancel: boolean;
  /** The response to a call that needs answers first. Its caller repeats the call with the answers and the state. */
  inputRequired(questions: ReadonlyMap<string, InputRequest>, requestState?: string): JsonObject;
  /** An error as peers see it. Internal details are replaced by a general internal error. */
  fault(error: unknown): WireFault;
}

export type TaskMethodName =
  `tasks/${'get' | 'cancel' | 'update' | 'result' | 'list' | 'continue' | 'delete'}`;

/** What the sender of a request supports and asks for. */
export interface Sender {
  /** True if this request may be answered with a task. */
  readonly takesTasks: boolean;
  /** True if it asks for a task, so that the response is the task and does not wait for the result. */
  readonly wantsTask?: boolean;
  /** True if it accepts a task without having asked for one. */
  readonly takesTasksUnasked?: boolean;
  /** True if it only supports the tasks of 2025-11-25, although it speaks a later revision. */
  readonly hasOlderTasks?: boolean;
  /** True if it supports subtasks: each of them is shown as a task. */
  readonly knowsSubtasks?: boolean;
  /** The kinds of questions for which it can create tasks itself. */
  readonly makesTasksOf?: readonly InputKind[];
  /** The kinds of questions that it can answer. */
  readonly answers: readonly InputKind[];
}

/** A JSON-RPC error. */
export interface WireFault {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** Progress in the wire format, which is the same in all revisions. */
export function wireProgress({ done, total, message }: Progress): JsonObject {
  return {
    progress: done,
    ...(total !== undefined && { total }),
    ...(message !== undefined && { message }),
  };
}
