/** How a task of a peer ended, as a caller learns of it. */

import type { WireFault } from '../dialects/dialect.ts';
import type { JsonObject } from '../model/json.ts';
import { MalformedAnswer, TaskCancelled, TaskExpired, TaskFailed, TaskLost } from './errors.ts';
import type { RemoteTask } from './remote-task.ts';

export type RemoteOutcome =
  | { readonly kind: 'result'; readonly result: JsonObject }
  | { readonly kind: 'failed'; readonly error: Omit<WireFault, 'code'> & { readonly code?: number } }
  | { readonly kind: 'cancelled'; readonly reason?: string }
  /** It was kept as long as agreed. */
  | { readonly kind: 'expired'; readonly ttlMs: number }
  | { readonly kind: 'lost'; readonly why: string };

/** What a task that is over says of its end itself; undefined if it has to be asked for. */
export function endingIn(task: RemoteTask): RemoteOutcome | undefined {
  const { status, result, error, message } = task;
  switch (status) {
    case 'completed':
      return result && { kind: 'result', result };
    case 'failed':
      // An error result has a place of its own in some dialects, and its status says failed all the same.
      if (result) return { kind: 'result', result };
      return error && { kind: 'failed', error };
    case 'cancelled':
      return { kind: 'cancelled', ...(message !== undefined && { reason: message }) };
    case 'unknown':
      return { kind: 'lost', why: message ?? 'the server does not know what became of it.' };
    default:
      return undefined;
  }
}

/** … and there is nothing to ask for. */
export function endingWithout(task: RemoteTask): RemoteOutcome {
  if (task.status === 'completed')
    throw new MalformedAnswer(`task ${task.taskId} is completed and has no result`);
  return { kind: 'failed', error: { message: task.message ?? `Task ${task.taskId} failed.` } };
}

/** A task that its peer does not know any more has ended too, though nobody can say how. */
export function endingOfUnknown(
  { createdAt, ttlMs }: { readonly createdAt: number | undefined; readonly ttlMs: number | null | undefined },
  why: string,
  now: number,
): RemoteOutcome {
  if (createdAt !== undefined && typeof ttlMs === 'number' && now >= createdAt + ttlMs)
    return { kind: 'expired', ttlMs };
  return { kind: 'lost', why };
}

/** In characters of JSON. */
export function sizeOf(result: JsonObject): number {
  try {
    return JSON.stringify(result).length;
  } catch {
    throw new MalformedAnswer('a result is nested too deeply to be written down');
  }
}

export function checkedSize(size: number, largest: number): void {
  if (size > largest)
    throw new MalformedAnswer(`results of ${size} characters are longer than the ${largest} that are taken`);
}

/** The result, or what went wrong as an error. */
export function resultOf(taskId: string, ending: RemoteOutcome): JsonObject {
  switch (ending.kind) {
    case 'result':
      return ending.result;
    case 'failed':
      throw new TaskFailed(taskId, ending.error);
    case 'cancelled':
      throw new TaskCancelled(taskId, ending.reason);
    case 'expired':
      throw new TaskExpired(taskId, ending.ttlMs);
    case 'lost':
      throw new TaskLost(taskId, ending.why);
  }
}
