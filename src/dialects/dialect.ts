/**
 * The port of a dialect: one wire format for tasks. A dialect translates tasks into messages, requests into types of the
 * engine, and errors into JSON-RPC errors. It also defines which senders can receive tasks. It stores and sends nothing.
 */
import type { InputKind, InputRequest } from '../model/input.ts';
import type { Json, JsonObject } from '../model/json.ts';
import type { Progress } from '../model/task.ts';
import type { Tree } from './collapse.ts';

export interface Dialect {
  /** The name of the dialect, stored as the origin of a task. */
  readonly revision: string;
  /** The task methods of the dialect. */
  readonly methods: readonly TaskMethodName[];
  /** What the sender of a request supports, according to its declared capabilities. */
  sender(capabilities: unknown): Sender;
  /** True if the sender may use the task methods. */
  admits(sender: Sender): boolean;
  /** The error for a sender that must support tasks for this request and did not declare it. */
  tasksRequired(what: string): Error;
  /** The response to a call that became a task. */
  created(tree: Tree, now: number): JsonObject;
  /** The response to `tasks/get`. */
  shown(tree: Tree, now: number): JsonObject;
  /** The task as an item of `tasks/list`. */
  listed(tree: Tree, now: number): JsonObject;
  /** The notification of a change of the task, if the dialect has one. */
  notification(tree: Tree, now: number): { readonly method: string; readonly params: JsonObject } | undefined;
  /** The `_meta` of a message that belongs to a task but does not contain its id otherwise. */
  related(tree: Tree, meta?: JsonObject): JsonObject;
  /** True if callers choose the ids of tasks. Such an id is only valid in its session. */
  readonly callerNamesTasks: boolean;
  /** True if the server sends questions to the client, and false if the client polls for them. */
  readonly pushesQuestions: boolean;
  /** The response to a command. It need not contain the current status of the task. */
  acknowledged(tree: Tree, now: number): JsonObject;
  /** True if cancelling a finished task is an error. */
  readonly refusesLateCancel: boolean;
  /** The response to a call that needs answers first. Its caller sends the call again with the answers and the state. */
  inputRequired(questions: ReadonlyMap<string, InputRequest>, requestState?: string): JsonObject;
  /** An error as peers see it. Internal details are replaced by a general internal error. */
  fault(error: unknown): WireFault;
}

export type TaskMethodName =
  `tasks/${'get' | 'cancel' | 'update' | 'result' | 'list' | 'continue' | 'delete'}`;

export interface Sender {
  /** True if this request may be answered with a task. */
  readonly takesTasks: boolean;
  /** True if it asks for a task, so that the response must not wait for the result. */
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

/** Progress in the format of all revisions. */
export function wireProgress({ done, total, message }: Progress): JsonObject {
  return {
    progress: done,
    ...(total !== undefined && { total }),
    ...(message !== undefined && { message }),
  };
}
