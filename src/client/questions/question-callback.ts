/** The one callback for everything that a server may ask, whatever way the question came in. */
import { digestOf } from '../../model/id.ts';
import type { Answer } from '../../model/input.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { SamplingRequest } from '../../model/sampling.ts';
import type { Question as AskedByTask } from '../../remote-tasks/questions.ts';

export type Question = {
  /** The task that asks; undefined if it is none. */
  readonly taskId: string | undefined;
  readonly key: string;
  /** What was wrong with the last answer, if the server refused one. */
  readonly problem?: string;
} & (
  | { readonly kind: 'form'; readonly message: string; readonly schema: JsonObject }
  | { readonly kind: 'url'; readonly message: string; readonly url: string; readonly elicitationId: string }
  | { readonly kind: 'sampling'; readonly params: SamplingRequest }
  | { readonly kind: 'roots' }
);

export type QuestionKind = Question['kind'];

export type { Answer } from '../../model/input.ts';

export type AnswerQuestion = (question: Question, signal: AbortSignal) => Promise<Answer> | Answer;

/** A request of a server that asks something, perhaps for a task. */
export type Asked = Omit<AskedByTask, 'taskId'> & { readonly taskId?: string };

/** A request of a server as a question; undefined if it is none that anybody knows. */
export function asQuestion({ taskId, key, method, params, problem }: Asked): Question | undefined {
  const about = { taskId, key, ...(problem !== undefined && { problem }) };
  if (method === 'roots/list') return { ...about, kind: 'roots' };
  if (method === 'sampling/createMessage')
    return { ...about, kind: 'sampling', params: params as SamplingRequest };
  if (method !== 'elicitation/create') return undefined;
  const message = typeof params.message === 'string' ? params.message : '';
  if (params.mode === 'url')
    return {
      ...about,
      kind: 'url',
      message,
      url: String(params.url ?? ''),
      elicitationId: String(params.elicitationId ?? ''),
    };
  return {
    ...about,
    kind: 'form',
    message,
    schema: isJsonObject(params.requestedSchema) ? params.requestedSchema : {},
  };
}

/** Where a question has no key of its own it is known by what it asks. */
export async function keyOf(method: string, { _meta, ...params }: JsonObject): Promise<string> {
  return `~${(await digestOf({ method, params })).slice(0, 16)}`;
}

/** What a client declares to be asked such questions. */
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
