import type { InputKind } from './input.ts';
import type { Json } from './json.ts';

/** What the plain call would have returned. */
export interface Success {
  readonly kind: 'result';
  readonly isError: false;
  readonly value: Json;
}

export type Failed =
  /** The call's own error result; an ordinary exception of a handler ends here. */
  | { readonly kind: 'result'; readonly isError: true; readonly value: Json }
  /** A protocol-level failure. Without a code the dialect chooses one. */
  | {
      readonly kind: 'failure';
      readonly message: string;
      readonly code?: number;
      readonly data?: Json;
      /** It had to ask its requestor something that the requestor cannot answer. */
      readonly unaskable?: InputKind;
    }
  | { readonly kind: 'cancelled'; readonly reason?: string }
  /** The work cannot be resumed honestly and its fate is unknown. */
  | { readonly kind: 'lost'; readonly message: string };

/** How a task ended. Each dialect words it in its own statuses. */
export type Outcome = Success | Failed;

/** In one word, for those who count: an error result is told apart from a good one. */
export function outcomeWord(outcome: Outcome): 'result' | 'error' | 'failure' | 'cancelled' | 'lost' {
  return outcome.kind === 'result' && outcome.isError ? 'error' : outcome.kind;
}
