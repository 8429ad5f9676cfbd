/** A call of a durable tool, and its open request. */

import type { ServerContext } from '@modelcontextprotocol/server';
import { wireProgress } from '../../dialects/dialect.ts';
import type { RequestedTask } from '../../dialects/sep-1686/dialect.ts';
import type { DurableTool } from '../../engine/handlers/tool.ts';
import type { TaskTree } from '../../engine/task-service.ts';
import type { JsonObject } from '../../model/json.ts';
import type { Outcome } from '../../model/outcome.ts';
import type { Join, Origin, Owner, Progress, TaskId } from '../../model/task.ts';
import type { Caller } from '../../task-methods/caller.ts';
import type { HandOver } from '../hand-over/waiting.ts';

/** A call together with its open request. */
export interface ToolCall extends OpenRequest {
  readonly caller: Caller;
  readonly tool: DurableTool;
  readonly input: unknown;
  /** The name that the caller used, if it can differ from the tool's name. */
  readonly calledAs?: string | undefined;
  readonly head?: Head | undefined;
  /** Answers to questions that were asked in an earlier round. */
  readonly inputResponses?: JsonObject | undefined;
  /** The sealed state that an earlier answer contained (`RequestState` in `tool-calls.ts`). */
  readonly requestState?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The retention that a caller requests for its task. `progress`: where to send the progress of a requested task. */
  readonly ttlMs?: number | undefined;
  readonly progress?: Origin['progress'] | undefined;
  /** The upper limit on the retention that the caller or the tool asks for. Infinity for none. */
  readonly maxRetentionMs: number;
  /** The upper limit on the tool's deadline. Infinity for none. */
  readonly maxDeadlineMs: number;
  /** Set for callers of SEP-1686, which choose the names of their tasks. */
  readonly named?: Naming | undefined;
  /**
   * Set if the fast path already counted the call towards its caller's limits. Unless `mayJoin`, it also started it.
   */
  readonly started?: StartedCall | MayJoin | undefined;
  /** The caller's own trace, which the task's trace continues. */
  readonly trace?: Origin['trace'] | undefined;
}

/** The task name that the caller chose (SEP-1686), and the id of its request. */
export interface Naming extends RequestedTask {
  readonly requestId: string | number;
}

/**
 * Starts a call before its task exists: an immediate answer needs no task. Returns the outcome, or the input of the
 * task that continues the call.
 */
export type Head = (owner: Owner, signal: AbortSignal) => Promise<StartedCall>;

export type StartedCall =
  | { readonly outcome: Outcome }
  | {
      readonly input: unknown;
      /** Called if no task is created after all. */
      abandon(): void;
    };

/** The fast path did not start the call: there may be a lost call to join. */
export interface MayJoin {
  readonly mayJoin: true;
}

/** The open request of a call. */
export interface OpenRequest {
  /** Fires when the request is cancelled or its connection is closed. */
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Called with the task of the request as soon as its creation starts, so that no event of the task is missed. */
  readonly onTask?: (creating: Promise<TaskId>) => void;
  /** Fires when the caller is gone without having cancelled the request. */
  readonly gone?: AbortSignal;
  /** Notifies the caller of its task. The caller can be asked questions until the returned function is called. */
  readonly onCreated?: (tree: TaskTree) => Promise<() => void>;
  /** Present if the caller does not support tasks and continues with plain tools after a long wait. */
  readonly handOver?: HandOver;
  /** Present if the request came in a session, where any process may receive its cancellation. */
  readonly inSession?: SessionRequest;
  /** Identifies the calls that can join the task of this call if its answer is lost. */
  readonly join?: Join;
}

/** A request that the client may cancel through another process. */
export interface SessionRequest {
  readonly requestId: unknown;
  /** Aborts the request in this process, after the client cancelled it. */
  abort(): Promise<void>;
}

/** The request was aborted, and no caller waits for an answer. */
export class RequestAborted extends Error {}

/** An error as a tool result, so that the model can read it. */
export function errorResult(text: string): JsonObject {
  return { content: [{ type: 'text', text }], isError: true };
}

/** The input responses of a request. In a session the SDK asks the questions and supplies the answers. */
export function responsesOf({ mcpReq }: ServerContext, sent: JsonObject): unknown {
  return mcpReq.envelope ? sent.inputResponses : mcpReq.inputResponses;
}

// --- Progress ---------------------------------------------------------------------------------------------

/** Sends progress, with `_meta`, to a caller that waits for the plain result and sent a progress token. */
export function progressOf(
  { mcpReq }: ServerContext,
  _meta?: JsonObject,
): { onProgress?: (progress: Progress) => void } {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return {};
  let last = Number.NEGATIVE_INFINITY;
  return {
    onProgress: (progress) => {
      // MCP requires progress to increase, but a handler may report any number: skip the others.
      if (progress.done <= last) return;
      last = progress.done;
      const params = { progressToken, ...wireProgress(progress), ...(_meta && { _meta }) };
      void mcpReq.notify({ method: 'notifications/progress', params } as never).catch(() => {});
    },
  };
}
