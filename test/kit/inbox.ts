/** Messages as they come on a stream of lines, one a line or as events, from a source that may be paused. */
import { EventEmitter, once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Message } from './wire.ts';

const withoutData = /^(event: .*|id: .*|retry: .*|:.*|)$/;

export class Inbox {
  readonly messages: Message[] = [];
  readonly #lines: Interface;
  readonly #heard = new EventEmitter().setMaxListeners(0);

  constructor(input: Readable, hear = (_: Message): void => {}) {
    this.#lines = createInterface({ input }).on('line', (line) => {
      if (withoutData.test(line)) return;
      const message = JSON.parse(line.replace(/^data: /, ''));
      this.messages.push(message);
      hear(message);
      this.#heard.emit('message');
    });
    // A line that broke off is none, and a source that broke off is over.
    this.#lines.on('error', () => {});
    input.on('close', () => {
      if (this.#heard.listenerCount('error') > 0) this.#heard.emit('error', new Error('The stream is over.'));
    });
  }

  /** What is sent from now on stays with the sender, and with the kernels in between. */
  pause(): void {
    this.#lines.pause();
  }

  resume(): void {
    this.#lines.resume();
  }

  /** Resolves as soon as the messages so far make it so. */
  async until(condition: (inbox: this) => unknown): Promise<void> {
    while (!condition(this)) await once(this.#heard, 'message');
  }

  /** The first message of that kind, whether it has come or is still to come. */
  async message(isIt: (message: Message) => boolean): Promise<Message> {
    await this.until(() => this.messages.some(isIt));
    return this.messages.find(isIt)!;
  }
}
