import type { InputKind } from './input.ts';
import type { Json } from './json.ts';

/** The result that the plain call would have returned. */
export interface Success {
  readonly kind: 'result';
  readonly isError: false;
  readonly value: Json;
}

export type Failed =
  /** An error result of the call. An ordinary exception of a handler becomes one. */
  | { readonly kind: 'result'; readonly isError: true; readonly value: Json }
  /** A protocol error. `code` is the JSON-RPC error code; if it is absent, the dialect chooses one. */
  | {
      readonly kind: 'failure';
      readonly message: string;
      readonly code?: number;
      readonly data?: Json;
      /** The task asked a question of this kind, and its caller cannot answer that kind. */
      readonly unaskable?: InputKind;
    }
  | { readonly kind: 'cancelled'; readonly reason?: string }
  /** The work cannot be resumed correctly, and nobody knows how far it got. */
  | { readonly kind: 'lost'; readonly message: string };

/** How a task ended. Each dialect maps it to its own statuses. */
export type Outcome = Success | Failed;

/** One word for the outcome, as a label for metrics. It distinguishes error results from successful ones. */
export function outcomeWord(outcome: Outcome): 'result' | 'error' | 'failure' | 'cancelled' | 'lost' {
  return outcome.kind === 'result' && outcome.isError ? 'error' : outcome.kind;
}
