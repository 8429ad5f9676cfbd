/** The errors of requests, and the translation of all errors to JSON-RPC. */
import { HoldfastError, hasCode, Unavailable } from '../model/errors.ts';
import type { InputKind } from '../model/input.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { Outcome } from '../model/outcome.ts';
import type { WireFault } from './dialect.ts';
import { internalError, invalidParams, methodNotFound } from './json-rpc.ts';

/** The request needs a capability that the client did not declare. */
export class MissingCapability extends HoldfastError {
  /** The capability, in the form in which the client must declare it. */
  readonly required: JsonObject;

  constructor(what: string, required: JsonObject) {
    super('MISSING_CAPABILITY', `${what} Declare it in the capabilities of the request.`);
    this.required = required;
  }
}

/** The task ended without a result: it failed, was cancelled or was lost. */
export class CallFailed extends HoldfastError {
  readonly outcome: Exclude<Outcome, { kind: 'result' }>;

  constructor(outcome: Exclude<Outcome, { kind: 'result' }>) {
    super(
      'CALL_FAILED',
      outcome.kind === 'cancelled' ? (outcome.reason ?? 'The work was cancelled.') : outcome.message,
    );
    this.outcome = outcome;
  }
}

/** The tool must, or must not, be called as a task; or the method does not exist for this caller. */
export class NotOffered extends HoldfastError {
  constructor(message: string) {
    super('NOT_OFFERED', message);
  }
}

/** The caller exceeds a limit. */
export class OverLimit extends HoldfastError {
  /** The name of the option with which the server's author sets the limit. */
  readonly limit: string;
  /** How long to wait before a retry. Undefined if waiting does not help. */
  readonly retryAfterMs: number | undefined;

  constructor(limit: string, message: string, retryAfterMs?: number) {
    super('LIMIT_REACHED', message);
    this.limit = limit;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The params of the request are not valid. */
export class InvalidParams extends HoldfastError {
  constructor(message: string) {
    super('INVALID_PARAMS', message);
  }
}

/** The request state was not issued by this server, belongs to another caller or call, or has expired. */
export class InvalidRequestState extends HoldfastError {
  constructor(reason: string) {
    super(
      'INVALID_REQUEST_STATE',
      `The requestState of this call cannot be used: ${reason}. Call the tool again without it.`,
    );
  }
}

/** The capability that a client declares to receive questions of this kind. */
export const capabilityFor: Record<InputKind, JsonObject> = {
  form: { elicitation: { form: {} } },
  url: { elicitation: { url: {} } },
  sampling: { sampling: {} },
  roots: { roots: {} },
};

/** The error for a question, identified by `key`, of a kind that the client cannot answer. */
export function cannotBeAsked(key: string, kind: InputKind): MissingCapability {
  return new MissingCapability(
    `This tool has to ask for "${key}", and the client did not declare that it can answer (${kind}).`,
    capabilityFor[kind],
  );
}

// --- On the wire --------------------------------------------------------------------------------------------

/** True for a failure of the server, not of the request. Such an error is also reported to the operator. */
export function isFailure(error: unknown): boolean {
  return !(error instanceof HoldfastError) || error instanceof Unavailable;
}

/** The error as all dialects report it. Details of failures of the server are hidden. */
export function commonFault(error: unknown): WireFault {
  if (error instanceof CallFailed) return failureOf(error);
  if (error instanceof InvalidRequestState)
    return { code: invalidParams, message: error.message, data: { reason: 'invalid_request_state' } };
  if (error instanceof NotOffered) return { code: methodNotFound, message: error.message };
  if (error instanceof OverLimit)
    return { code: internalError, message: error.message, data: overLimit(error) };
  if (error instanceof Unavailable)
    return { code: internalError, message: error.forCallers, data: unavailable };
  if (hasCode(error, ...refusalsOfParams)) return { code: invalidParams, message: error.message };
  return { code: internalError, message: 'Internal error: the server could not carry out the request.' };
}

/** The `data` of a limit error, in our own format: the protocol does not define any. */
export function overLimit({ limit, retryAfterMs }: OverLimit): JsonObject {
  return {
    reason: 'limit',
    limit,
    ...(retryAfterMs !== undefined && { retryAfterMs: Math.ceil(retryAfterMs) }),
  };
}

const unavailable = { reason: 'unavailable' };

/** True if the `data` of an error means that the store is unavailable. The error is then unrelated to any task. */
export function isUnavailable(data: unknown): boolean {
  return isJsonObject(data) && data.reason === unavailable.reason;
}

/**
 * How many milliseconds to wait before a retry, according to the `data` of an error. Undefined if it has no such hint.
 */
export function waitAskedFor(data: unknown): number | undefined {
  if (!isJsonObject(data) || data.reason !== 'limit') return undefined;
  return typeof data.retryAfterMs === 'number' ? data.retryAfterMs : undefined;
}

function failureOf({ outcome, message }: CallFailed): WireFault {
  if (outcome.kind !== 'failure') return { code: internalError, message };
  const { code = internalError, data } = outcome;
  // Data that means "unavailable" is removed: a caller would retry the request, but the outcome of the task is final.
  return { code, message, ...(data !== undefined && !isUnavailable(data) && { data }) };
}

/** The codes of errors that are reported as invalid params. */
const refusalsOfParams = [
  'TASK_NOT_FOUND',
  'TASK_EXISTS',
  'TASK_IS_DONE',
  'BAD_ANSWER',
  'IDEMPOTENCY_KEY_REUSED',
  'NAME_TOO_LONG',
  'INVALID_PARAMS',
  'MISSING_CAPABILITY',
] as const;
