/** The outcome of a task of a peer. */

import type { WireFault } from '../dialects/dialect.ts';
import type { JsonObject } from '../model/json.ts';
import { MalformedAnswer, TaskCancelled, TaskExpired, TaskFailed, TaskLost } from './errors.ts';
import type { RemoteTask } from './remote-task.ts';

export type RemoteOutcome =
  | { readonly kind: 'result'; readonly result: JsonObject }
  | { readonly kind: 'failed'; readonly error: Omit<WireFault, 'code'> & { readonly code?: number } }
  | { readonly kind: 'cancelled'; readonly reason?: string }
  /** The server deleted the task after its ttl. */
  | { readonly kind: 'expired'; readonly ttlMs: number }
  | { readonly kind: 'lost'; readonly why: string };

/** The outcome that a finished task contains. Undefined if it must be requested. */
export function outcomeIn(task: RemoteTask): RemoteOutcome | undefined {
  const { status, result, error, message } = task;
  switch (status) {
    case 'completed':
      return result && { kind: 'result', result };
    case 'failed':
      // In some dialects a task with an error result is `failed` and still contains the result.
      if (result) return { kind: 'result', result };
      return error && { kind: 'failed', error };
    case 'cancelled':
      return { kind: 'cancelled', ...(message !== undefined && { reason: message }) };
    case 'unknown':
      return { kind: 'lost', why: message ?? 'the server does not know its outcome.' };
    default:
      return undefined;
  }
}

/** The outcome of a finished task that contains none, if none can be requested. */
export function outcomeWithoutResult(task: RemoteTask): RemoteOutcome {
  if (task.status === 'completed')
    throw new MalformedAnswer(`task ${task.taskId} is completed and has no result`);
  return { kind: 'failed', error: { message: task.message ?? `Task ${task.taskId} failed.` } };
}

/** The outcome of a task that its peer no longer knows: `expired` if its ttl has passed, otherwise `lost`. */
export function outcomeOfUnknownTask(
  { createdAt, ttlMs }: { readonly createdAt: number | undefined; readonly ttlMs: number | null | undefined },
  why: string,
  now: number,
): RemoteOutcome {
  if (createdAt !== undefined && typeof ttlMs === 'number' && now >= createdAt + ttlMs)
    return { kind: 'expired', ttlMs };
  return { kind: 'lost', why };
}

/** The size in characters of JSON. */
export function sizeOf(result: JsonObject): number {
  try {
    return JSON.stringify(result).length;
  } catch {
    throw new MalformedAnswer('a result is nested too deeply');
  }
}

/** Throws if the results are too large. */
export function checkedSize(size: number, max: number): void {
  if (size > max) throw new MalformedAnswer(`results of ${size} characters exceed the maximum of ${max}`);
}

/** Returns the result, or throws the error that describes another outcome. */
export function resultOf(taskId: string, outcome: RemoteOutcome): JsonObject {
  switch (outcome.kind) {
    case 'result':
      return outcome.result;
    case 'failed':
      throw new TaskFailed(taskId, outcome.error);
    case 'cancelled':
      throw new TaskCancelled(taskId, outcome.reason);
    case 'expired':
      throw new TaskExpired(taskId, outcome.ttlMs);
    case 'lost':
      throw new TaskLost(taskId, outcome.why);
  }
}
