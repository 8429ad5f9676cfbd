/**
 * The outcome of an upstream call as a JSON value for the journal, and the outcome of the task that follows from it.
 */

import { relatedTaskKey } from '../../dialects/2025-11-25/names.ts';
import { serverInfoKey } from '../../dialects/2026-07-28/names.ts';
import { failureOf } from '../../engine/handlers/tool-result.ts';
import { HoldfastError } from '../../model/errors.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { Failed } from '../../model/outcome.ts';
import { messageOf } from '../../model/thrown.ts';
import {
  ConnectionLost,
  MalformedAnswer,
  RemoteError,
  RequestTimedOut,
  ServerUnreachable,
  TaskCancelled,
  TaskExpired,
  TaskFailed,
  TaskLost,
} from '../../remote-tasks/errors.ts';

export type UpstreamOutcome =
  | { readonly kind: 'result'; readonly result: JsonObject }
  /** The call never reached the upstream. */
  | { readonly kind: 'unreachable'; readonly why: string }
  /** The connection broke during the call. The upstream may have executed it. */
  | { readonly kind: 'broken'; readonly why: string }
  /** The upstream answered with an error, or its task was cancelled or lost. */
  | { readonly kind: 'failed'; readonly outcome: Failed };

/** Thrown if there is no connection to an upstream. */
export class UpstreamUnreachable extends HoldfastError {
  constructor(upstream: string, why: string) {
    super('UPSTREAM_UNREACHABLE', `Could not reach the server "${upstream}": ${why}`);
  }
}

/** Thrown by a handler to end its task with this outcome. */
export class CallEnded extends HoldfastError {
  readonly outcome: Failed;

  constructor(outcome: Failed) {
    super('CALL_ENDED', `The call ended: ${outcome.kind}.`);
    this.outcome = outcome;
  }
}

export function lost(message: string): UpstreamOutcome {
  return { kind: 'failed', outcome: { kind: 'lost', message } };
}

export function outcomeOfError(error: unknown): UpstreamOutcome {
  if (error instanceof RemoteError || error instanceof TaskFailed) {
    const { rpcCode: code, message, data } = error;
    const details = { ...(code !== undefined && { code }), ...(data !== undefined && { data }) };
    return { kind: 'failed', outcome: { kind: 'failure', message, ...details } };
  }
  const why = messageOf(error);
  if (error instanceof TaskCancelled) return { kind: 'failed', outcome: { kind: 'cancelled', reason: why } };
  if (error instanceof TaskLost || error instanceof TaskExpired) return lost(why);
  const isUnsent =
    error instanceof UpstreamUnreachable ||
    error instanceof ServerUnreachable ||
    (error instanceof ConnectionLost && error.isUnsent);
  if (isUnsent) return { kind: 'unreachable', why };
  const isBroken = error instanceof ConnectionLost || error instanceof RequestTimedOut;
  if (isBroken) return { kind: 'broken', why };
  return lost(error instanceof MalformedAnswer ? why : `The gateway failed during the call: ${why}`);
}

/**
 * The result of the task: that of the call, or an error result if the call never reached the upstream. Otherwise throws
 * `CallEnded`. `what` names the call in messages.
 */
export function resultFrom(ending: UpstreamOutcome, what: string): JsonObject {
  switch (ending.kind) {
    case 'result':
      return withoutUpstreamFields(ending.result);
    case 'unreachable':
      return {
        content: [{ type: 'text', text: `${ending.why} ${what} was not called.` }],
        isError: true,
      };
    case 'failed':
      throw new CallEnded(ending.outcome);
    case 'broken':
      throw new CallEnded({
        kind: 'lost',
        message: `${ending.why} ${what} may have been executed.`,
      });
  }
}

/** The outcome of a task whose handler threw this error. */
export function failureOfCall(error: unknown): Failed {
  return error instanceof CallEnded ? error.outcome : failureOf(error);
}

/** Removes what only concerns the gateway: fields of the upstream's revision, and its task id. */
function withoutUpstreamFields({ resultType: _, _meta, ...result }: JsonObject): JsonObject {
  if (!isJsonObject(_meta)) return result;
  const { [relatedTaskKey]: _task, [serverInfoKey]: _server, ...meta } = _meta;
  return { ...result, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
}
