/** Refusals that every dialect words alike. */
import {
  BadAnswer,
  HoldfastError,
  IdempotencyKeyReused,
  NameTooLong,
  TaskExists,
  TaskIsDone,
  TaskNotFound,
  Unavailable,
} from '../model/errors.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { WireFault } from './dialect.ts';
import {
  CallFailed,
  InvalidParams,
  InvalidRequestState,
  MissingCapability,
  NotOffered,
  OverLimit,
} from './errors.ts';
import { internalError, invalidParams, methodNotFound } from './json-rpc.ts';

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
  if (isRefusalOfParams(error)) return { code: invalidParams, message: error.message };
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

function isRefusalOfParams(error: unknown): error is HoldfastError {
  const classes = [
    TaskNotFound,
    TaskExists,
    TaskIsDone,
    BadAnswer,
    IdempotencyKeyReused,
    NameTooLong,
    InvalidParams,
    MissingCapability,
  ];
  return error instanceof HoldfastError && classes.some((one) => error instanceof one);
}
