/** Refusals that only a peer can cause: what is wrong with a message, and how every dialect words it. */
import { HoldfastError, hasCode, Unavailable } from '../model/errors.ts';
import type { InputKind } from '../model/input.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { Outcome } from '../model/outcome.ts';
import type { WireFault } from './dialect.ts';
import { internalError, invalidParams, methodNotFound } from './json-rpc.ts';

/** The request asks for something that only clients with a certain capability can be given. */
export class MissingCapability extends HoldfastError {
  /** As the client would declare it. */
  readonly required: JsonObject;

  constructor(what: string, required: JsonObject) {
    super('MISSING_CAPABILITY', `${what} Declare it in the capabilities of the request.`);
    this.required = required;
  }
}

/** The work behind a plain call ended without a result. */
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

/** The tool must be called as a task, or must not; or the method is not there for this caller. */
export class NotOffered extends HoldfastError {
  constructor(message: string) {
    super('NOT_OFFERED', message);
  }
}

/** The caller asks for more than its share. */
export class OverLimit extends HoldfastError {
  /** The name of the limit, as the server's author sets it. */
  readonly limit: string;
  readonly retryAfterMs: number | undefined;

  constructor(limit: string, message: string, retryAfterMs?: number) {
    super('LIMIT_REACHED', message);
    this.limit = limit;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The message is not what its method needs. */
export class InvalidParams extends HoldfastError {
  constructor(message: string) {
    super('INVALID_PARAMS', message);
  }
}

/** The state that came back was not given out, not to this caller, not for this call, or too long ago. */
export class InvalidRequestState extends HoldfastError {
  constructor(reason: string) {
    super(
      'INVALID_REQUEST_STATE',
      `The requestState of this call cannot be used: ${reason}. Call the tool again without it.`,
    );
  }
}

/** What a client declares to be asked such questions. */
export const capabilityFor: Record<InputKind, JsonObject> = {
  form: { elicitation: { form: {} } },
  url: { elicitation: { url: {} } },
  sampling: { sampling: {} },
  roots: { roots: {} },
};

export function cannotBeAsked(key: string, kind: InputKind): MissingCapability {
  return new MissingCapability(
    `This tool has to ask for "${key}", and the client does not say that it can answer (${kind}).`,
    capabilityFor[kind],
  );
}

// --- On the wire --------------------------------------------------------------------------------------------

/** Whether something is wrong here, and not with the request: then whoever runs the server is told too. */
export function isFailure(error: unknown): boolean {
  return !(error instanceof HoldfastError) || error instanceof Unavailable;
}

/** What is wrong with the request is said; what is wrong with the server is nobody's business outside. */
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

/** No dialect has a word for it: what a program needs to know stands in the data. */
export function overLimit({ limit, retryAfterMs }: OverLimit): JsonObject {
  return {
    reason: 'limit',
    limit,
    ...(retryAfterMs !== undefined && { retryAfterMs: Math.ceil(retryAfterMs) }),
  };
}

const unavailable = { reason: 'unavailable' };

/** Whether an error is about the server's store, and says nothing about any task. */
export function isUnavailable(data: unknown): boolean {
  return isJsonObject(data) && data.reason === unavailable.reason;
}

/** How long an error asks its reader to wait; undefined if waiting would not help. */
export function waitAskedFor(data: unknown): number | undefined {
  if (!isJsonObject(data) || data.reason !== 'limit') return undefined;
  return typeof data.retryAfterMs === 'number' ? data.retryAfterMs : undefined;
}

function failureOf({ outcome, message }: CallFailed): WireFault {
  if (outcome.kind !== 'failure') return { code: internalError, message };
  const { code = internalError, data } = outcome;
  // What was unavailable to the task is its outcome: a caller must not ask again because of it.
  return { code, message, ...(data !== undefined && !isUnavailable(data) && { data }) };
}

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
