/**
 * Ids for the requests that a server sends. Every SDK server counts from zero. A session that outlives its server would
 * reuse ids, and a late answer to one question would be taken for the answer to another.
 *
 * In an HTTP session the id of a task's question also identifies the question and its stream. So a load balancer may
 * send the answer to any process. The format is `PREFIX-NUMBER`, and for such questions `PREFIX-NUMBER.DATA`, where
 * `PREFIX` identifies this instance and `NUMBER` is the SDK's id.
 */
import { createHash } from 'node:crypto';
import { questionsOf } from '../../dialects/collapse.ts';
import type { TaskService } from '../../engine/task-service.ts';
import { newId } from '../../model/id.ts';
import type { InputRecord } from '../../model/input.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { Caller } from '../../task-methods/caller.ts';
import { answerQuestions, visibleTree } from '../../task-methods/task-methods.ts';

/** A question of a task as its client sees it, and the stream on which it was asked. */
export interface QuestionRef {
  readonly taskId: string;
  readonly key: string;
  readonly stream: string;
}

/**
 * The key of `_meta` with the reference of a question. Used only in this process: removed before the question is sent.
 */
const refKey = 'dev.holdfast/question';

/** Adds the reference of a question to its metadata. */
export function withQuestionRef(meta: object | undefined, ref: QuestionRef): Record<string, unknown> {
  return { ...meta, [refKey]: ref };
}

export class RequestIds {
  readonly #prefix = `${newId().slice(0, 12)}-`;
  readonly #session: () => string | undefined;
  /** The suffixes of the ids of questions, by the SDK's id. */
  readonly #suffixes = new Map<unknown, string>();

  /** `session` returns the id of the session, if there is one. */
  constructor(session: () => string | undefined) {
    this.#session = session;
  }

  /** Returns an outgoing message with a unique id. */
  outgoing<M extends object>(message: M): M {
    if ('id' in message && 'method' in message) {
      const plain = this.#withoutRef(message);
      return { ...plain, id: this.#unique(message.id) };
    }
    if (!('method' in message) || message.method !== 'notifications/cancelled') return message;
    if (!('params' in message) || !isJsonObject(message.params)) return message;
    const params = { ...message.params, requestId: this.#unique(message.params.requestId) };
    this.#suffixes.delete(message.params.requestId);
    return { ...message, params };
  }

  /** Returns an incoming message with the SDK's id; undefined for an answer to a question of another instance. */
  incoming<M extends object>(message: M): M | undefined {
    if (!('id' in message) || 'method' in message) return message;
    const { id } = message;
    if (typeof id !== 'string' || !id.startsWith(this.#prefix)) return undefined;
    const own = Number.parseInt(id.slice(this.#prefix.length), 10);
    // `parseInt` ignores what follows the number, so compare the whole id.
    if (Number.isNaN(own) || id !== this.#unique(own)) return undefined;
    this.#suffixes.delete(own);
    return { ...message, id: own };
  }

  /** Returns the question of another instance that an id refers to, if it is one of this session. */
  foreignQuestion(id: unknown): QuestionRef | undefined {
    const session = this.#session();
    // An id with our own prefix that we did not send is invalid.
    if (typeof id !== 'string' || session === undefined || id.startsWith(this.#prefix)) return undefined;
    const [mark, taskId, key, stream] = listIn(/^[a-z2-7]{12}-\d+\.([\w-]+)$/.exec(id)?.[1]);
    const isOfSession = mark === markOf(session);
    if (!isOfSession || typeof taskId !== 'string' || typeof key !== 'string' || typeof stream !== 'string')
      return undefined;
    return { taskId, key, stream };
  }

  #withoutRef<M extends { id: unknown }>(message: M): M {
    if (!('params' in message) || !isJsonObject(message.params) || !isJsonObject(message.params._meta))
      return message;
    const { [refKey]: ref, ..._meta } = message.params._meta;
    if (!isJsonObject(ref)) return message;
    const session = this.#session();
    if (session !== undefined) {
      const fields = JSON.stringify([markOf(session), ref.taskId, ref.key, ref.stream]);
      this.#suffixes.set(message.id, `.${Buffer.from(fields).toString('base64url')}`);
    }
    return { ...message, params: { ...message.params, _meta } };
  }

  #unique(id: unknown): string {
    return `${this.#prefix}${id}${this.#suffixes.get(id) ?? ''}`;
  }
}

/** Decodes a suffix; empty if it is invalid, because a client may send any text. */
function listIn(text = ''): unknown[] {
  try {
    const list: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/** A digest that binds an id to its session: an answer is valid only in the session of its question. */
function markOf(session: string): string {
  return createHash('sha256').update(session).digest('base64url').slice(0, 16);
}

// --- Answers to questions of another process ---------------------------------------------------------------

/**
 * Applies an answer to a question that another process asked: a load balancer may send an answer to any process. The
 * process that asked sees that the question is answered. Only that process can handle an invalid answer or one that is
 * a task of the client.
 */
export async function applyForeignAnswer(
  requests: TaskService,
  caller: Caller,
  ref: QuestionRef,
  message: object,
): Promise<void> {
  const tree = await visibleTree(requests, caller, ref.taskId);
  const question = tree && questionsOf(tree).find(({ key }) => key === ref.key);
  if (!question) return;
  const { key, taskId, ownKey, request } = question;
  const asker = [tree.root, ...tree.descendants].find((task) => task.id === taskId)!;
  const input = (asker.inputs as readonly InputRecord[]).find((one) => one.key === ownKey);
  if (input?.state !== 'open' || input.delivery?.stream !== ref.stream) return;
  const { result, error } = message as JsonObject;
  if (isJsonObject(result)) {
    const { _meta, ...answer } = result;
    if (!isJsonObject(answer.task)) await answerQuestions(requests, tree, { [key]: answer }, caller);
  } else if (isJsonObject(error)) {
    // The client cannot ask its user, or the user did not want to be asked: that cancels a form. For other questions
    // the `ask` of the handler throws.
    const isForm = request.kind === 'form' || request.kind === 'url';
    if (isForm) await answerQuestions(requests, tree, { [key]: { action: 'cancel' } }, caller);
    else await requests.withdraw(taskId, ownKey);
  }
}
