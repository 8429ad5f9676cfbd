/**
 * What a call that waits for answers gives its caller to bring back: sealed, bound to the owner, the tool and the
 * arguments, and good for an hour. It names parked work, or carries the answers gathered before there is a task.
 */
import { Sealer } from '../access/seal.ts';
import type { Requests } from '../engine/requests.ts';
import type { JsonObject } from '../model/json.ts';
import type { Owner, TaskId } from '../model/task.ts';
import { InvalidRequestState } from '../protocol/errors.ts';

export const stateLifeMs = 3_600_000;

export type RequestState =
  | { readonly kind: 'parked'; readonly taskId: TaskId }
  /** `asked` are the keys of the questions it goes with, `answers` those that are already there. */
  | { readonly kind: 'before'; readonly asked: readonly string[]; readonly answers: JsonObject };

/** The call that a state belongs to. */
export interface StatefulCall {
  readonly owner: Owner;
  readonly tool: string;
  readonly argumentsDigest: string;
}

export class RequestStates {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  async seal(call: StatefulCall, state: RequestState): Promise<string> {
    const { owner, ...issuedFor } = call;
    const sealer = await this.#sealerOf(owner);
    return sealer.seal({ ...issuedFor, state } as unknown as JsonObject, this.#requests.now + stateLifeMs);
  }

  async open(call: StatefulCall, sealed: string): Promise<RequestState> {
    const sealer = await this.#sealerOf(call.owner);
    const opened = sealer.open(sealed, this.#requests.now);
    if ('problem' in opened)
      throw new InvalidRequestState(
        opened.problem === 'expired' ? 'it has expired' : 'this server did not issue it',
      );
    const { state, ...issuedFor } = opened.value as unknown as StatefulCall & { state: RequestState };
    if (issuedFor.tool !== call.tool || issuedFor.argumentsDigest !== call.argumentsDigest)
      throw new InvalidRequestState('it belongs to a call with another tool or other arguments');
    return state;
  }

  /** A state of another owner cannot be told from one that was made up, not even by its age. */
  async #sealerOf(owner: Owner): Promise<Sealer> {
    return new Sealer(await this.#requests.secret('request-state'), `request-state of ${owner}`);
  }
}
