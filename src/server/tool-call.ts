/** A call of a durable tool, and the open request that it came with. */
import type { TaskTree } from '../engine/requests.ts';
import type { DurableTool } from '../engine/tool.ts';
import type { JsonObject } from '../model/json.ts';
import type { Outcome } from '../model/outcome.ts';
import type { Join, Origin, Owner, Progress, TaskId } from '../model/task.ts';
import type { HandOver } from './hand-over/waiting.ts';

export interface ToolCall {
  readonly tool: DurableTool;
  readonly input: unknown;
  /** The name that the caller used, if it may be another than that of the tool. */
  readonly calledAs?: string;
  readonly inputResponses?: JsonObject;
  readonly requestState?: string;
  readonly idempotencyKey?: string;
  /** Wishes of a caller that asks for a task: how long it is to be known, and where to tell of its progress. */
  readonly ttlMs?: number;
  readonly progress?: Origin['progress'];
  /** However long its caller or the tool wants the task to be known, it is not longer than so. */
  readonly longestRetentionMs?: number;
  /** … and however long the tool lets it live, it is ended after so long. */
  readonly longestDeadlineMs: number;
  readonly named?: Naming;
  readonly head?: Head;
  /** Its head, if it has begun, and been paid for, already. */
  readonly headed?: Headed | Promise<Headed>;
  /** The caller's own trace, which the task's goes on with. */
  readonly trace?: Origin['trace'];
}

/** The task of a caller that names its tasks itself (SEP-1686), and what it calls the request. */
export interface Naming {
  readonly taskId: string;
  readonly keepAlive?: number | null;
  readonly requestId: string | number;
}

/**
 * Begins work that can be carried on by whoever runs its task, before there is one: what is answered at once needs no
 * task at all. Gives how it ended, if it has, or else what the task that goes on with it is made with.
 */
export type Head = (owner: Owner, signal: AbortSignal) => Promise<Begun>;

/** Nothing is begun if a lost call may be there to join. */
export type Headed = Begun | { readonly mayJoin: true };

export type Begun =
  | { readonly outcome: Outcome }
  | {
      readonly input: unknown;
      /** There will be no task. */
      abandon(): void;
    };

/** The open request that a call came with. */
export interface OpenRequest {
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Hears which task it waits for: from the moment that the task is being made, so that nothing of it is missed. */
  readonly onTask?: (making: Promise<TaskId>) => void;
  /** Nobody is there any more to be answered, though nothing was cancelled. */
  readonly gone?: AbortSignal;
  /** The caller is told of its task, and can be asked its questions until the returned function is called. */
  readonly onCreated?: (tree: TaskTree) => Promise<() => void>;
  /** Its caller knows no tasks, and goes on with plain tools if it has to wait for long. */
  readonly handOver?: HandOver;
  /** Which calls can join its task, if it is lost. */
  readonly join?: Join;
}

/** The request is gone, and nobody waits for an answer. */
export class RequestAborted extends Error {}
