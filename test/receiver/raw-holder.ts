/** A client of 2025-11-25 that holds tasks exactly as it is told: the server that asks it is what is tested. */

import { type Message, openEar, Peer } from '../dialects/revision-2025-11-25/peer.ts';
import { until } from '../kit/until.ts';
import type { Listening } from '../kit/wire.ts';

export const holding = {
  elicitation: {},
  sampling: {},
  tasks: {
    list: {},
    cancel: {},
    requests: { elicitation: { create: {} }, sampling: { createMessage: {} } },
  },
};

export class RawHolder extends Peer {
  readonly heard: Message[] = [];
  reply: (request: Message) => object | undefined | Promise<object | undefined> = () => undefined;
  #ear: Listening | undefined;

  async hearken(): Promise<void> {
    this.#ear = await openEar(this, (message) => void this.#hear(message).catch(() => {}));
  }

  async hangUp(): Promise<void> {
    await this.#ear?.[Symbol.asyncDispose]();
  }

  /** The result of a call. The server may ask on this stream too. */
  async outcome(taskId: string): Promise<Message> {
    for await (const message of this.result(taskId)) {
      if (message.method === undefined) return message;
      this.#hear(message).catch(() => {});
    }
    throw new Error('The stream ended without an answer.');
  }

  async #hear(message: Message): Promise<void> {
    this.heard.push(message);
    if (message.id === undefined) return;
    const reply = await this.reply(message);
    if (reply) await this.post({ id: message.id, ...reply });
  }

  requests(method: string): Message[] {
    return this.heard.filter((message) => message.method === method);
  }

  async untilAsked(method: string): Promise<Message> {
    await until(() => this.requests(method).length > 0);
    return this.requests(method)[0]!;
  }
}
