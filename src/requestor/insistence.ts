/** Asks until there is an answer, or for as long as a caller has patience. What the peer refuses is refused; what did not get through is sent again. */
import type { JsonObject } from '../model/json.ts';
import type { Semaphore } from '../model/semaphore.ts';
import { isUnavailable } from '../protocol/errors.ts';
import { internalError } from '../protocol/json-rpc.ts';
import type { Ending } from './ending.ts';
import { ConnectionLost, RemoteError, RequestTimedOut, ServerUnreachable, TaskOverdue } from './errors.ts';
import type { PursuitParts } from './pursuit.ts';
import type { Message } from './remote-dialect.ts';
import type { RemoteTask } from './remote-task.ts';
import type { Halt } from './waiting.ts';

type Parts = Pick<PursuitParts, 'peer' | 'pace' | 'onUpdate' | 'unreachableForMs'>;

export class Insistence {
  readonly #parts: Parts;
  readonly #halt: Halt;
  readonly #requests: Semaphore;
  readonly #now: () => number;
  #isUnreachable = false;

  constructor(parts: Parts, halt: Halt, requests: Semaphore, now: () => number) {
    this.#parts = parts;
    this.#halt = halt;
    this.#requests = requests;
    this.#now = now;
  }

  /** Asks for the status of a task, for as long as the caller has patience with it. */
  look(message: Message, patience: Patience): Promise<JsonObject> {
    const since = this.#now();
    return this.#insist(message, true, ({ message: why }) => patience.failed(since, why));
  }

  /** Sends what may arrive twice. */
  answer(message: Message): Promise<JsonObject> {
    return this.#insist(message, true);
  }

  /** Takes every error of the peer at its word, unless it says nothing about the task. */
  once(message: Message): Promise<JsonObject> {
    return this.#insist(message, false);
  }

  async #insist(message: Message, isRepeated: boolean, onFailure = (_: Error) => {}): Promise<JsonObject> {
    const { pace, unreachableForMs } = this.#parts;
    const since = this.#now();
    for (let failures = 1; ; failures++) {
      try {
        return await this.#request(message);
      } catch (error) {
        if (this.#halt.signal.aborted || !isPassing(error, isRepeated)) throw error;
        this.#unreachable(error.message);
        onFailure(error);
        const passed = this.#now() - since;
        if (passed > unreachableForMs) throw new ServerUnreachable(passed, error.message);
        const retryAfterMs = error instanceof ConnectionLost ? error.retryAfterMs : undefined;
        await this.#halt.pause(pace.next({ hintMs: 0, failures, retryAfterMs }));
      }
    }
  }

  async #request(message: Message): Promise<JsonObject> {
    const { peer, onUpdate } = this.#parts;
    const { signal } = this.#halt;
    signal.throwIfAborted();
    const answer = await this.#requests.run(() => peer.request(message, { signal }), this.#halt);
    if (this.#isUnreachable) onUpdate({ type: 'reachable' });
    this.#isUnreachable = false;
    return answer;
  }

  #unreachable(why: string): void {
    if (!this.#isUnreachable) this.#parts.onUpdate({ type: 'unreachable', why });
    this.#isUnreachable = true;
  }
}

function isPassing(error: unknown, isRepeated: boolean): error is Error {
  // Something went wrong over there: tried again, where trying again does no harm.
  if (error instanceof RemoteError)
    return (isRepeated && error.code === internalError) || isUnavailable(error.data);
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
