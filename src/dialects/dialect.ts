/**
 * The port of a dialect: one wire vocabulary for tasks. It turns tasks into messages and messages into what the
 * engine understands, says who may be given what, and words refusals. It stores, sends and decides nothing.
 */
import type { InputKind, InputRequest } from '../model/input.ts';
import type { Json, JsonObject } from '../model/json.ts';
import type { Progress } from '../model/task.ts';
import type { Tree } from './collapse.ts';

export interface Dialect {
  /** The name under which a task remembers where it came from. */
  readonly revision: string;
  /** The methods about tasks that it has. */
  readonly methods: readonly TaskMethodName[];
  /** What a request says of its sender, read from the capabilities that it declares. */
  sender(capabilities: unknown): Sender;
  /** May such a sender use the task methods? */
  admits(sender: Sender): boolean;
  /** The refusal of a sender that needs tasks for what it wants, and did not say that it has them. */
  tasksRequired(what: string): Error;
  /** The answer to a call that has become a task. */
  created(tree: Tree, now: number): JsonObject;
  /** The answer to a look at a task. */
  shown(tree: Tree, now: number): JsonObject;
  /** A task among others. */
  listed(tree: Tree, now: number): JsonObject;
  /** The news of a task, if there is such a message. */
  news(tree: Tree, now: number): { readonly method: string; readonly params: JsonObject } | undefined;
  /** The metadata of a message that has to do with a task and does not name it otherwise. */
  related(tree: Tree, meta?: JsonObject): JsonObject;
  /** Does the requestor make up the ids? Then they mean something in its session alone. */
  readonly requestorNamesTasks: boolean;
  /** Are questions put to the client, or does it come for them? */
  readonly pushesQuestions: boolean;
  /** The answer to a command, which need not say how the task stands now. */
  acknowledged(tree: Tree, now: number): JsonObject;
  /** Is it a mistake to cancel what is done? */
  readonly refusesLateCancel: boolean;
  /** The answer to a call that goes on only when its caller answers first, and sends the state back. */
  inputRequired(questions: ReadonlyMap<string, InputRequest>, requestState?: string): JsonObject;
  /** An error as the peer is told of it. What is nobody's business outside becomes an internal error. */
  fault(error: unknown): WireFault;
}

export type TaskMethodName =
  `tasks/${'get' | 'cancel' | 'update' | 'result' | 'list' | 'continue' | 'delete'}`;

export interface Sender {
  /** May this very request be answered with a task? */
  readonly takesTasks: boolean;
  /** Does it ask for one, so that nothing is waited for? */
  readonly wantsTask?: boolean;
  /** … though it does not ask for any, so that asking for one is no more than a wish? */
  readonly takesTasksUnasked?: boolean;
  /** Does it know only the tasks of 2025-11-25, though it speaks a later revision? */
  readonly hasOlderTasks?: boolean;
  /** Does it know subtasks, so that each is shown to it as a task of its own? */
  readonly knowsSubtasks?: boolean;
  /** The questions of which it can make tasks of its own. */
  readonly makesTasksOf?: readonly InputKind[];
  /** The questions that it can be asked. */
  readonly answers: readonly InputKind[];
}

/** A JSON-RPC error. */
export interface WireFault {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** Progress, as every revision words it. */
export function wireProgress({ done, total, message }: Progress): JsonObject {
  return {
    progress: done,
    ...(total !== undefined && { total }),
    ...(message !== undefined && { message }),
  };
}
