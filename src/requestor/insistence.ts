/** Asks until there is an answer. What the peer refuses is refused; what did not get through is sent again. */
import type { JsonObject } from '../model/json.ts';
import type { Semaphore } from '../model/semaphore.ts';
import { isUnavailable } from '../protocol/faults.ts';
import { internalError } from '../protocol/json-rpc.ts';
import type { Ending } from './ending.ts';
import { ConnectionLost, RemoteError, RequestTimedOut, ServerUnreachable } from './errors.ts';
import type { Halt } from './halt.ts';
import type { Patience } from './patience.ts';
import type { PursuitParts } from './pursuit.ts';
import type { Message } from './remote-dialect.ts';

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
