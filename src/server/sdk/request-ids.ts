/**
 * Ids for the requests that a server sends. The SDK counts from zero on every instance; a session that outlives its
 * server would use the same ids again, and a late answer to one question be taken for the answer to another.
 *
 * In a session over HTTP the id of a question of a task also says which one it is, and on which stream it was put. So
 * whichever process a load balancer takes the answer to knows what to do with it.
 */
import { createHash } from 'node:crypto';
import { questionsOf } from '../../dialects/collapse.ts';
import type { TaskService } from '../../engine/task-service.ts';
import { newId } from '../../model/id.ts';
import type { InputRecord } from '../../model/input.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { Caller } from '../../task-methods/caller.ts';
import { answerQuestions, visible } from '../../task-methods/task-methods.ts';

/** A question of a task, as its client sees it, and the stream that it was put on. */
export interface QuestionPlace {
  readonly taskId: string;
  readonly key: string;
  readonly stream: string;
}

/** In `_meta` on the way from whoever puts a question to here; it never leaves. */
const placeKey = 'dev.holdfast/question';

/** The metadata of a question, with its place. */
export function placed(meta: object | undefined, place: QuestionPlace): Record<string, unknown> {
  return { ...meta, [placeKey]: place };
}

export class RequestIds {
  readonly #prefix = `${newId().slice(0, 12)}-`;
  readonly #session: () => string | undefined;
  /** What was added to the ids of questions. */
  readonly #places = new Map<unknown, string>();

  /** `session` gives the id of the session, where there is one. */
  constructor(session: () => string | undefined) {
    this.#session = session;
  }

  /** A message as it leaves: with ids that nobody ever used. */
  outgoing<M extends object>(message: M): M {
    if ('id' in message && 'method' in message) {
      const plain = this.#withoutPlace(message);
      return { ...plain, id: this.#unique(message.id) };
    }
    if (!('method' in message) || message.method !== 'notifications/cancelled') return message;
    if (!('params' in message) || !isJsonObject(message.params)) return message;
    const params = { ...message.params, requestId: this.#unique(message.params.requestId) };
    this.#places.delete(message.params.requestId);
    return { ...message, params };
  }

  /** A message as the SDK knows it; undefined for an answer to a question that this instance did not put. */
  incoming<M extends object>(message: M): M | undefined {
    if (!('id' in message) || 'method' in message) return message;
    const { id } = message;
    if (typeof id !== 'string' || !id.startsWith(this.#prefix)) return undefined;
    const own = Number.parseInt(id.slice(this.#prefix.length), 10);
    // Other texts begin with the same number, and none of them is an id that was sent.
    if (Number.isNaN(own) || id !== this.#unique(own)) return undefined;
    this.#places.delete(own);
    return { ...message, id: own };
  }

  /** Which question of another instance an answer in this session is to, if its id says so. */
  placeElsewhere(id: unknown): QuestionPlace | undefined {
    const session = this.#session();
    // What looks like one of our own, and is none, is no answer to anything.
    if (typeof id !== 'string' || session === undefined || id.startsWith(this.#prefix)) return undefined;
    const [mark, taskId, key, stream] = listIn(/^[a-z2-7]{12}-\d+\.([\w-]+)$/.exec(id)?.[1]);
    const isOurs = mark === markOf(session);
    if (!isOurs || typeof taskId !== 'string' || typeof key !== 'string' || typeof stream !== 'string')
      return undefined;
    return { taskId, key, stream };
  }

  #withoutPlace<M extends { id: unknown }>(message: M): M {
    if (!('params' in message) || !isJsonObject(message.params) || !isJsonObject(message.params._meta))
      return message;
    const { [placeKey]: place, ..._meta } = message.params._meta;
    if (!isJsonObject(place)) return message;
    const session = this.#session();
    if (session !== undefined) {
      const written = JSON.stringify([markOf(session), place.taskId, place.key, place.stream]);
      this.#places.set(message.id, `.${Buffer.from(written).toString('base64url')}`);
    }
    return { ...message, params: { ...message.params, _meta } };
  }

  #unique(id: unknown): string {
    return `${this.#prefix}${id}${this.#places.get(id) ?? ''}`;
  }
}

/** Anybody can make up an id. */
function listIn(text = ''): unknown[] {
  try {
    const written: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return Array.isArray(written) ? written : [];
  } catch {
    return [];
  }
}

/** An answer counts only in the session in which it was asked for. */
function markOf(session: string): string {
  return createHash('sha256').update(session).digest('base64url').slice(0, 16);
}

// --- Answers to questions of another process ---------------------------------------------------------------

/**
 * Applies an answer to a question that another process asked: a load balancer may send an answer to any process. The
 * process that asked sees that the question is answered. An answer that does not fit, and one that is a task of the
 * client, can only be handled by the process that asked.
 */
export async function answeredElsewhere(
  requests: TaskService,
  caller: Caller,
  place: QuestionPlace,
  message: object,
): Promise<void> {
  const tree = await visible(requests, caller, place.taskId);
  const question = tree && questionsOf(tree).find(({ key }) => key === place.key);
  if (!question) return;
  const { key, taskId, ownKey, request } = question;
  const asker = [tree.root, ...tree.descendants].find((task) => task.id === taskId)!;
  const input = (asker.inputs as readonly InputRecord[]).find((one) => one.key === ownKey);
  if (input?.state !== 'open' || input.delivery?.stream !== place.stream) return;
  const { result, error } = message as JsonObject;
  if (isJsonObject(result)) {
    const { _meta, ...answer } = result;
    if (!isJsonObject(answer.task)) await answerQuestions(requests, tree, { [key]: answer }, caller);
  } else if (isJsonObject(error)) {
    // The client cannot ask anybody, or nobody wanted to be asked.
    const isForm = request.kind === 'form' || request.kind === 'url';
    if (isForm) await answerQuestions(requests, tree, { [key]: { action: 'cancel' } }, caller);
    else await requests.withdraw(taskId, ownKey);
  }
}
