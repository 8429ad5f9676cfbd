/** Refusals that only a peer can cause: what is wrong with a message, whatever it was about. */
import { HoldfastError } from '../model/errors.ts';
import type { InputKind } from '../model/input.ts';
import type { JsonObject } from '../model/json.ts';
import type { Outcome } from '../model/outcome.ts';

/** The request asks for something that only clients with a certain capability can be given. */
export class MissingCapability extends HoldfastError {
  /** As the client would declare it. */
  readonly required: JsonObject;

  constructor(what: string, required: JsonObject) {
    super(`${what} Declare it in the capabilities of the request.`);
    this.required = required;
  }
}

/** The work behind a plain call ended without a result. */
export class CallFailed extends HoldfastError {
  readonly outcome: Exclude<Outcome, { kind: 'result' }>;

  constructor(outcome: Exclude<Outcome, { kind: 'result' }>) {
    super(outcome.kind === 'cancelled' ? (outcome.reason ?? 'The work was cancelled.') : outcome.message);
    this.outcome = outcome;
  }
}

/** The tool must be called as a task, or must not; or the method is not there for this caller. */
export class NotOffered extends HoldfastError {}

/** The caller asks for more than its share. */
export class OverLimit extends HoldfastError {
  /** The name of the limit, as the server's author sets it. */
  readonly limit: string;
  readonly retryAfterMs: number | undefined;

  constructor(limit: string, message: string, retryAfterMs?: number) {
    super(message);
    this.limit = limit;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The message is not what its method needs. */
export class InvalidParams extends HoldfastError {}

/** The state that came back was not given out, not to this caller, not for this call, or too long ago. */
export class InvalidRequestState extends HoldfastError {
  constructor(reason: string) {
    super(`The requestState of this call cannot be used: ${reason}. Call the tool again without it.`);
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
