/** The callback that answers all questions of a server, however they arrive. */
import { digestOf } from '../../model/id.ts';
import type { Answer } from '../../model/input.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { SamplingRequest } from '../../model/sampling.ts';
import type { Question as AskedByTask } from '../../remote-tasks/questions.ts';

export type Question = {
  /** The task that asks; undefined if there is no task. */
  readonly taskId: string | undefined;
  /** Identifies the question within its task. */
  readonly key: string;
  /** Why the server rejected the last answer, if it did. */
  readonly problem?: string;
} & (
  | { readonly kind: 'form'; readonly message: string; readonly schema: JsonObject }
  | { readonly kind: 'url'; readonly message: string; readonly url: string; readonly elicitationId: string }
  | { readonly kind: 'sampling'; readonly params: SamplingRequest }
  | { readonly kind: 'roots' }
);

export type QuestionKind = Question['kind'];

export type { Answer } from '../../model/input.ts';

/** Returns the answer. `signal` aborts when the answer is no longer needed. */
export type AnswerQuestion = (question: Question, signal: AbortSignal) => Promise<Answer> | Answer;

/** A server's request that contains a question, perhaps of a task. */
export type Asked = Omit<AskedByTask, 'taskId'> & { readonly taskId?: string };

/** Converts a request to a question; undefined if its method is unknown. */
export function asQuestion({ taskId, key, method, params, problem }: Asked): Question | undefined {
  const common = { taskId, key, ...(problem !== undefined && { problem }) };
  if (method === 'roots/list') return { ...common, kind: 'roots' };
  if (method === 'sampling/createMessage')
    return { ...common, kind: 'sampling', params: params as SamplingRequest };
  if (method !== 'elicitation/create') return undefined;
  const message = typeof params.message === 'string' ? params.message : '';
  if (params.mode === 'url')
    return {
      ...common,
      kind: 'url',
      message,
      url: String(params.url ?? ''),
      elicitationId: String(params.elicitationId ?? ''),
    };
  return {
    ...common,
    kind: 'form',
    message,
    schema: isJsonObject(params.requestedSchema) ? params.requestedSchema : {},
  };
}

/** The key of a question that has none: a digest of its content. */
export async function keyOf(method: string, { _meta, ...params }: JsonObject): Promise<string> {
  return `~${(await digestOf({ method, params })).slice(0, 16)}`;
}

/** The capabilities for these kinds of questions. */
export function capabilitiesFor(kinds: readonly QuestionKind[]): JsonObject {
  const elicitation = {
    ...(kinds.includes('form') && { form: {} }),
    ...(kinds.includes('url') && { url: {} }),
  };
  return {
    ...(Object.keys(elicitation).length > 0 && { elicitation }),
    ...(kinds.includes('sampling') && { sampling: {} }),
    ...(kinds.includes('roots') && { roots: {} }),
  };
}
