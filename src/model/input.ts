/** Questions that a task puts to its requestor, and their answers: the neutral form of MCP's input requests. */
import type { JsonObject } from './json.ts';
import type { SamplingAnswer, SamplingRequest } from './sampling.ts';

export type InputRequest = (
  | { readonly kind: 'form'; readonly message: string; readonly schema: JsonObject }
  | { readonly kind: 'url'; readonly message: string; readonly url: string; readonly elicitationId: string }
  | { readonly kind: 'sampling'; readonly params: SamplingRequest }
  | { readonly kind: 'roots' }
) & {
  /** The client is asked to make a task of it, if it can, so that no connection has to stay open for the answer. */
  readonly asTask?: true;
  /** Only a person may answer, not a model that continues a call with plain tools. */
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

/** As it came over the wire; `answerProblem` tells whether it fits the question. */
export type InputResponse = JsonObject;

interface InputBase {
  readonly key: string;
  readonly request: InputRequest;
  readonly askedAt: number;
}

/** A question on its way to a person, on a connection that is open: who carries it, and until when at least. */
export interface Delivery {
  /** The process. */
  readonly by: string;
  /** The stream, as that process calls it. */
  readonly stream: string;
  readonly until: number;
}

export interface OpenInput extends InputBase {
  readonly state: 'open';
  /** At most one at a time, so that nobody is asked twice. */
  readonly delivery?: Delivery;
  /** The task that the client made of the question; the answer is its result. */
  readonly entrusted?: AskedAsTask;
}

export interface AskedAsTask {
  readonly taskId: string;
  /** The words in which the client speaks of it. */
  readonly dialect: string;
}

export interface AnsweredInput extends InputBase {
  readonly state: 'answered';
  readonly answeredAt: number;
  readonly response: InputResponse;
}

/** Nobody needs the answer any more: the question timed out, or the task ended first. */
export interface WithdrawnInput extends InputBase {
  readonly state: 'withdrawn';
  readonly withdrawnAt: number;
}

export type SettledInput = AnsweredInput | WithdrawnInput;
export type InputRecord = OpenInput | SettledInput;

/** The author's key, with `~n` from its second occurrence on, so that no key ever stands for two questions. */
export function freshKey(inputs: readonly InputRecord[], wanted: string): string {
  const used = new Set(inputs.map((input) => input.key));
  if (!used.has(wanted)) return wanted;
  let n = 2;
  while (used.has(`${wanted}~${n}`)) n++;
  return `${wanted}~${n}`;
}
