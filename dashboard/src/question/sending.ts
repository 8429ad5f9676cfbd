/** Sends answers one at a time and records the error. */
import { type Signal, useSignal } from '@preact/signals';
import type { JsonObject } from '../../../src/model/json.ts';
import { sentenceOf } from '../errors.ts';

export type Send = (response: JsonObject) => Promise<void>;

export interface Sending {
  readonly busy: Signal<string | undefined>;
  readonly error: Signal<string | undefined>;
  /** `what` identifies the button that was pressed. */
  send(what: string, response: JsonObject): Promise<void>;
}

export function useSending(send: Send): Sending {
  const busy = useSignal<string | undefined>(undefined);
  const error = useSignal<string | undefined>(undefined);
  return {
    busy,
    error,
    send: async (what, response) => {
      if (busy.peek()) return;
      busy.value = what;
      error.value = undefined;
      try {
        await send(response);
      } catch (thrown) {
        error.value = sentenceOf(thrown);
      } finally {
        busy.value = undefined;
      }
    },
  };
}
