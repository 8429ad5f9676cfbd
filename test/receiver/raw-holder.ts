/** A client of 2025-11-25 that holds tasks exactly as it is told: the server that asks it is what is tested. */

import { frames, type Message, Peer } from '../dialects/revision-2025-11-25/peer.ts';
import { until } from '../kit/until.ts';

export const holding = {
  elicitation: {},
  sampling: {},
  tasks: {
    list: {},
    cancel: {},
    requests: { elicitation: { create: {} }, sampling: { createMessage: {} } },
  },
};

export type Reply = { result: object } | { error: object } | undefined;

export class RawHolder extends Peer {
  /** What the server asked of the client. */
  readonly heard: Message[] = [];
  reply: (request: Message) => Reply | Promise<Reply> = () => undefined;
  #stream = new AbortController();

  /** Opens the stream on which the server asks. */
  async hearken(): Promise<void> {
    this.#stream = new AbortController();
    const response = await this.listen(this.#stream.signal);
    void this.#read(response).catch(() => {});
  }

  hangUp(): void {
    this.#stream.abort();
  }

  async #read(response: Response): Promise<void> {
    for await (const message of frames(response)) this.#hear(message);
  }

  /** The result of a call. The server may ask on this stream too. */
  async outcome(taskId: string): Promise<Message> {
    for await (const message of this.result(taskId)) {
      if (message.method === undefined) return message;
      this.#hear(message);
    }
    throw new Error('The stream ended without an answer.');
  }

  #hear(message: Message): void {
    this.heard.push(message);
    if (message.id !== undefined) void this.#answer(message).catch(() => {});
  }

  async #answer(message: Message): Promise<void> {
    const reply = await this.reply(message);
    if (reply) await this.post({ id: message.id, ...reply });
  }

  requests(method: string): Message[] {
    return this.heard.filter((message) => message.method === method);
  }

  async untilAsked(method: string, times = 1): Promise<Message> {
    await until(() => this.requests(method).length >= times);
    return this.requests(method)[times - 1]!;
  }
}

export function task(taskId: string, status: string, more: object = {}): object {
  const at = new Date().toISOString();
  return { taskId, status, createdAt: at, lastUpdatedAt: at, ttl: null, pollInterval: 20, ...more };
}

/** A holder that answers by method. */
export function replies(byMethod: Record<string, (params: Message) => Reply>): (request: Message) => Reply {
  return ({ method, params }) => byMethod[method]?.(params ?? {});
}
