/** A call of a durable tool, and the open request that it came with. */

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

/** The call, and the open request that it came with. */
export interface ToolCall extends OpenRequest {
  readonly caller: Caller;
  readonly tool: DurableTool;
  readonly input: unknown;
  /** The name that the caller used, if it may be another than that of the tool. */
  readonly calledAs?: string | undefined;
  readonly head?: Head | undefined;
  readonly inputResponses?: JsonObject | undefined;
  readonly requestState?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Wishes of a caller that asks for a task: how long it is to be known, and where to tell of its progress. */
  readonly ttlMs?: number | undefined;
  readonly progress?: Origin['progress'] | undefined;
  /** However long its caller or the tool wants the task to be known, it is not longer than so. */
  readonly maxRetentionMs: number;
  /** … and however long the tool lets it live, it is ended after so long. */
  readonly maxDeadlineMs: number;
  readonly named?: Naming | undefined;
  /** What the fast path has begun, and counted, already. */
  readonly begun?: Begun | MayJoin | undefined;
  /** The caller's own trace, which the task's goes on with. */
  readonly trace?: Origin['trace'] | undefined;
}

/** The task of a caller that names its tasks itself (SEP-1686), and what it calls the request. */
export interface Naming extends RequestedTask {
  readonly requestId: string | number;
}

/**
 * Begins a call before there is a task of it: an answer that comes at once needs none. Returns the outcome, or the input
 * of the task that continues the call.
 */
export type Head = (owner: Owner, signal: AbortSignal) => Promise<Begun>;

export type Begun =
  | { readonly outcome: Outcome }
  | {
      readonly input: unknown;
      /** There will be no task. */
      abandon(): void;
    };

/** Nothing was begun: there may be a lost call to join. */
export interface MayJoin {
  readonly mayJoin: true;
}

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
  /** Present if it came in a session, where any process may hear that it is cancelled. */
  readonly inSession?: SessionRequest;
  /** Which calls can join its task, if it is lost. */
  readonly join?: Join;
}

/** A request whose client may cancel it at another process. */
export interface SessionRequest {
  readonly requestId: unknown;
  /** The client has done so: aborts the request here. */
  abort(): Promise<void>;
}

/** The request is gone, and nobody waits for an answer. */
export class RequestAborted extends Error {}

/** What went wrong, for a model to read. */
export function errorResult(text: string): JsonObject {
  return { content: [{ type: 'text', text }], isError: true };
}

/** The answers that a request brings. In a session the SDK asks the questions, and comes back with the answers. */
export function responsesOf({ mcpReq }: ServerContext, sent: JsonObject): unknown {
  return mcpReq.envelope ? sent.inputResponses : mcpReq.inputResponses;
}

// --- Progress ---------------------------------------------------------------------------------------------

/** Sends progress to a caller that waits for the plain result and gave a token. */
export function progressOf(
  { mcpReq }: ServerContext,
  _meta?: JsonObject,
): { onProgress?: (progress: Progress) => void } {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return {};
  let last = Number.NEGATIVE_INFINITY;
  return {
    onProgress: (progress) => {
      // It must grow with each notification, whatever a handler reports.
      if (progress.done <= last) return;
      last = progress.done;
      const params = { progressToken, ...wireProgress(progress), ...(_meta && { _meta }) };
      void mcpReq.notify({ method: 'notifications/progress', params } as never).catch(() => {});
    },
  };
}
