/**
 * How long a caller waits for one task. A server that gives no proper answer is given up once that has lasted as long
 * as the task's ttl; a server that keeps reporting an unfinished task is given up `unreachableForMs` after its ttl. A
 * task without a ttl has no limit while its server answers. Giving up ends nothing: the call can be resumed.
 */
import { TaskOverdue } from './errors.ts';
import type { RemoteTask } from './remote-task.ts';

export class Patience {
  readonly #taskId: string;
  readonly #unreachableForMs: number;
  /** Monotonic: neither a clock that is set nor the clock of the server counts. */
  readonly #now: () => number;
  readonly #knownSince: number;
  #ttlMs: number | null | undefined;
  /** Since when every answer showed a task that is older than its ttl. */
  #overdueSince: number | undefined;

  constructor(
    taskId: string,
    {
      unreachableForMs,
      now,
      ttlMs,
    }: {
      readonly unreachableForMs: number;
      readonly now: () => number;
      /** As the create result has it. */
      readonly ttlMs?: number | null | undefined;
    },
  ) {
    this.#taskId = taskId;
    this.#unreachableForMs = unreachableForMs;
    this.#now = now;
    this.#knownSince = now();
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
    const now = this.#now();
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
    const forMs = this.#now() - since;
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
