/**
 * Ids for the requests that a server sends. The SDK counts from zero on every instance; a session that outlives its
 * server would use the same ids again, and a late answer to one question be taken for the answer to another.
 */
import { newId } from '../model/id.ts';
import { isJsonObject } from '../model/json.ts';

export class RequestIds {
  readonly #prefix = `${newId().slice(0, 12)}-`;

  /** A message as it leaves: with ids that nobody ever used. */
  outgoing<M extends object>(message: M): M {
    if ('id' in message && 'method' in message) return { ...message, id: this.#unique(message.id) };
    if (!('method' in message) || message.method !== 'notifications/cancelled') return message;
    if (!('params' in message) || !isJsonObject(message.params)) return message;
    const params = { ...message.params, requestId: this.#unique(message.params.requestId) };
    return { ...message, params };
  }

  /** A message as the SDK knows it; undefined for an answer to a question that this instance did not put. */
  incoming<M extends object>(message: M): M | undefined {
    if (!('id' in message) || 'method' in message) return message;
    const { id } = message;
    if (typeof id !== 'string' || !id.startsWith(this.#prefix)) return undefined;
    const number = id.slice(this.#prefix.length);
    // Some other texts are numbers too, and none of them is an id that was sent.
    return /^\d+$/.test(number) ? { ...message, id: Number(number) } : undefined;
  }

  #unique(id: unknown): string {
    return `${this.#prefix}${id}`;
  }
}
