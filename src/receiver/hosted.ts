/** The durable handlers behind the tasks that a client holds. */
import { ProtocolError } from '../engine/recorded-error.ts';
import { type DurableTool, durableTool } from '../engine/tool.ts';
import type { JsonObject } from '../model/json.ts';

export interface AskedRequest {
  readonly method: string;
  readonly params: JsonObject;
}

export type AnswerRequest = (request: AskedRequest, signal: AbortSignal) => Promise<JsonObject>;

/** One for each method: somebody is asked once, and the answer is remembered. */
export function answering(method: string, answer: AnswerRequest): DurableTool {
  const durable = durableTool(method.replace('/', '.'), { deadline: 'none' }, async (asked, task) => {
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
