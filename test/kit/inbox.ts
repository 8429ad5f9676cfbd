/** Messages as they come on a stream of lines, from a source that may be paused. */
import { EventEmitter, once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Message } from './wire.ts';

export class Inbox {
  readonly messages: Message[] = [];
  /** Each is called with every message that comes. */
  readonly hearers = new Set<(message: Message) => void>();
  readonly #lines: Interface;
  readonly #heard = new EventEmitter().setMaxListeners(0);
  #isOver = false;

  /** Each line is a message, unless told otherwise. */
  constructor(input: Readable, read: (line: string) => Message | undefined = JSON.parse) {
    this.#lines = createInterface({ input }).on('line', (line) => {
      const message = read(line);
      if (!message) return;
      this.messages.push(message);
      for (const hear of this.hearers) hear(message);
      this.#heard.emit('news');
    });
    // A line that broke off is none, and a source that broke off is over.
    this.#lines.on('error', () => {});
    input.on('close', () => {
      this.#isOver = true;
      this.#heard.emit('news');
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
    while (!condition(this)) {
      if (this.#isOver) throw new Error('The stream is over.');
      await once(this.#heard, 'news');
    }
  }

  /** The first message of that kind, whether it has come or is still to come. */
  async message(isIt: (message: Message) => boolean): Promise<Message> {
    await this.until(() => this.messages.some(isIt));
    return this.messages.find(isIt)!;
  }
}
