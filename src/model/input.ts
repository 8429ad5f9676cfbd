/**
 * A task's questions to its caller and their answers, independent of the dialect: MCP's input requests and responses.
 */
import type { JsonObject } from './json.ts';
import type { SamplingAnswer, SamplingRequest } from './sampling.ts';

export type InputRequest = (
  | { readonly kind: 'form'; readonly message: string; readonly schema: JsonObject }
  | { readonly kind: 'url'; readonly message: string; readonly url: string; readonly elicitationId: string }
  | { readonly kind: 'sampling'; readonly params: SamplingRequest }
  | { readonly kind: 'roots' }
) & {
  /** Asks the client to create a task for the question, if it can, so that no connection has to stay open. */
  readonly asTask?: true;
  /** Only a person may answer, not the model of a plain client. */
  readonly person?: true;
};

export type InputKind = InputRequest['kind'];

export type FormAnswer<Content = JsonObject> =
  | { readonly action: 'accept'; readonly content: Content }
  | { readonly action: 'decline' | 'cancel' };

export type UrlAnswer = { readonly action: 'accept' | 'decline' | 'cancel' };

export type RootsAnswer = {
  readonly roots: readonly { readonly uri: string; readonly name?: string; readonly _meta?: JsonObject }[];
};

/** The answer to a question of any kind. */
export type Answer = FormAnswer | UrlAnswer | SamplingAnswer | RootsAnswer;

/** An answer as it arrived. `answerProblem` validates it. */
export type InputResponse = JsonObject;

interface InputBase {
  readonly key: string;
  readonly request: InputRequest;
  readonly askedAt: number;
}

/** A question that is being delivered to a person on an open connection. */
export interface Delivery {
  /** The process that delivers it. */
  readonly by: string;
  /** That process's name for the stream. */
  readonly stream: string;
  /** No other stream delivers the question before this time. */
  readonly until: number;
}

export interface OpenInput extends InputBase {
  readonly state: 'open';
  /** At most one at a time, so that a person is not asked twice. */
  readonly delivery?: Delivery;
  /** The task that the client created for the question. Its result is the answer. */
  readonly entrusted?: AskedAsTask;
}

export interface AskedAsTask {
  readonly taskId: string;
  /** The dialect of the client's task. */
  readonly dialect: string;
}

export interface AnsweredInput extends InputBase {
  readonly state: 'answered';
  readonly answeredAt: number;
  readonly response: InputResponse;
}

/** The answer is no longer needed: the question timed out, or the task ended first. */
export interface WithdrawnInput extends InputBase {
  readonly state: 'withdrawn';
  readonly withdrawnAt: number;
}

export type SettledInput = AnsweredInput | WithdrawnInput;
export type InputRecord = OpenInput | SettledInput;

/** Returns the author's key, with `~2`, `~3` … if it was used before, so that every question has its own key. */
export function freshKey(inputs: readonly InputRecord[], wanted: string): string {
  const used = new Set(inputs.map((input) => input.key));
  if (!used.has(wanted)) return wanted;
  let n = 2;
  while (used.has(`${wanted}~${n}`)) n++;
  return `${wanted}~${n}`;
}
