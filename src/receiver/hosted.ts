/** The durable handlers behind the tasks that a client holds. */
import { ProtocolError } from '../engine/recorded-error.ts';
import { type DurableTool, durableTool } from '../engine/tool.ts';
import type { JsonObject } from '../model/json.ts';
import { messageOf } from '../model/thrown.ts';

export interface AskedRequest {
  readonly method: string;
  readonly params: JsonObject;
}

export type AnswerRequest = (request: AskedRequest, signal: AbortSignal) => Promise<JsonObject>;

/** A host may be ended and started again many times before a person has made up their mind. */
const deathsAllowed = 10_000;

/**
 * One for each method and server: somebody is asked once, and the answer is remembered. A host that is connected to
 * another server leaves the question alone, because it would ask in the wrong server's name.
 */
export function answering(method: string, server: string, answer: AnswerRequest): DurableTool {
  const options = { version: server, deadline: 'none', deathsAllowed } as const;
  const durable = durableTool(method.replace('/', '.'), options, async (asked, task) => {
    const { params } = asked as AskedRequest;
    return task.step('answer', ({ signal }) => answer({ method, params }, signal));
  });
  return {
    ...durable,
    // What a person or a model said is the result, whatever it is.
    outcome: async (returned) => ({ kind: 'result', isError: false, value: returned as JsonObject }),
    failure: (error) => ({
      kind: 'failure',
      message: messageOf(error),
      ...(error instanceof ProtocolError && { code: error.code }),
    }),
  };
}
