/** Asks until there is an answer, or for as long as a caller has patience. What the peer refuses is refused; what did not get through is sent again. */
import { runtime } from '../model/runtime.ts';
import { isUnavailable } from '../protocol/errors.ts';
import { internalError } from '../protocol/json-rpc.ts';
import type { Ending } from './ending.ts';
import { ConnectionLost, RemoteError, RequestTimedOut, ServerUnreachable, TaskOverdue } from './errors.ts';
import type { RemoteTask } from './remote-task.ts';
import type { Pace } from './waiting.ts';

export interface InsistOptions {
  readonly pace: Pace;
  readonly unreachableForMs: number;
  readonly pause: (ms: number) => Promise<void>;
  /** Is it sent again after this error? */
  readonly isPassing: (error: Error) => boolean;
  readonly onFailure?: (error: Error) => void;
}

export async function insist<T>(
  request: () => Promise<T>,
  { pace, unreachableForMs, pause, isPassing, onFailure }: InsistOptions,
): Promise<T> {
  const since = runtime.monotonic();
  for (let failures = 1; ; failures++) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof Error) || !isPassing(error)) throw error;
      onFailure?.(error);
      const passed = runtime.monotonic() - since;
      if (passed > unreachableForMs) throw new ServerUnreachable(passed, error.message);
      const retryAfterMs = error instanceof ConnectionLost ? error.retryAfterMs : undefined;
      await pause(pace.next({ hintMs: 0, failures, retryAfterMs }));
    }
  }
}

/** Says nothing about the task. What went wrong over there is tried again where that does no harm. */
export function saysNothing(error: Error, isRepeatable: boolean): boolean {
  if (error instanceof RemoteError)
    return (isRepeatable && error.code === internalError) || isUnavailable(error.data);
  return error instanceof ConnectionLost || error instanceof RequestTimedOut;
}

/** The peer does not know the task any more. */
export class Gone extends Error {
  readonly ending: Ending;

  constructor(ending: Ending) {
    super('The task is gone.');
    this.ending = ending;
  }
}

/**
 * How long a caller waits for one task. A server that gives no proper answer is given up once that has lasted as long
 * as the task's ttl; a server that keeps reporting an unfinished task is given up `unreachableForMs` after its ttl. A
 * task without a ttl has no limit while its server answers. Giving up ends nothing: the call can be resumed.
 */
export class Patience {
  readonly #taskId: string;
  readonly #unreachableForMs: number;
  /** Monotonic: neither a clock that is set nor the clock of the server counts. */
  readonly #knownSince = runtime.monotonic();
  #ttlMs: number | null | undefined;
  /** Since when every answer showed a task that is older than its ttl. */
  #overdueSince: number | undefined;

  /** With the ttl as the create result has it. */
  constructor(taskId: string, unreachableForMs: number, ttlMs: number | null | undefined) {
    this.#taskId = taskId;
    this.#unreachableForMs = unreachableForMs;
    this.#ttlMs = ttlMs;
  }

  /** The last that the server reported; later answers need not repeat it. */
  get ttlMs(): number | null | undefined {
    return this.#ttlMs;
  }

  /** The server reported an unfinished task. While a person is asked, the time is theirs. */
  waited(
    { status, ttlMs = this.#ttlMs }: Pick<RemoteTask, 'status' | 'ttlMs'>,
    isAsked: () => boolean,
  ): void {
    this.#ttlMs = ttlMs;
    const now = runtime.monotonic();
    if (typeof ttlMs !== 'number' || now - this.#knownSince <= ttlMs || isAsked()) {
      this.#overdueSince = undefined;
      return;
    }
    this.#overdueSince ??= now;
    const forMs = now - this.#overdueSince;
    if (forMs <= this.#unreachableForMs) return;
    throw new TaskOverdue(
      this.#taskId,
      `the server still reports it as ${status}, ${seconds(forMs)} after its ttl of ${ttlMs} ms.`,
    );
  }

  /** The server has given no proper answer since then. */
  failed(since: number, why: string): void {
    const forMs = runtime.monotonic() - since;
    if (typeof this.#ttlMs !== 'number' || forMs <= this.#ttlMs) return;
    throw new TaskOverdue(
      this.#taskId,
      `the server has given no proper answer for ${seconds(forMs)}, and its ttl is ${this.#ttlMs} ms. ${why}`,
    );
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
