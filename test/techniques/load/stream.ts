/** One open subscription over HTTP, as its reader sees it. */
import type { IncomingMessage } from 'node:http';
import type { Message } from '../../kit/wire.ts';
import { taskIn, type WireTask } from './protocol.ts';

export type { Message } from '../../kit/wire.ts';

export class Stream {
  readonly id: string;
  readonly status: number;
  readonly messages: Message[] = [];
  /** What was last said of each task. */
  readonly latest = new Map<string, WireTask>();
  /** Resolves when it is over: true if the response came to its proper end, false if it broke off. */
  readonly ended: Promise<boolean>;
  readonly #response: IncomingMessage;
  readonly #waiting = new Map<() => boolean, PromiseWithResolvers<void>>();
  #text = '';

  constructor(id: string, response: IncomingMessage) {
    this.id = id;
    this.status = response.statusCode!;
    this.#response = response;
    response.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    response.on('error', () => {});
    this.ended = new Promise((resolve) => response.on('close', () => resolve(response.complete)));
    response.on('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('The stream is over.'));
    });
  }

  /** Stops reading: what the server sends from now on stays with the server, and with the kernels in between. */
  pause(): void {
    this.#response.pause();
  }

  resume(): void {
    this.#response.resume();
  }

  close(): void {
    this.#response.destroy();
  }

  /** Resolves as soon as what was heard so far makes it so. */
  async until(condition: (stream: Stream) => boolean): Promise<void> {
    if (condition(this)) return;
    const waiting = Promise.withResolvers<void>();
    this.#waiting.set(() => condition(this), waiting);
    await waiting.promise;
  }

  #read(text: string): void {
    this.#text += text;
    const events = this.#text.split('\n\n');
    this.#text = events.pop()!;
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data !== undefined) this.#hear(JSON.parse(data));
    }
    for (const [condition, { resolve }] of this.#waiting) {
      if (!condition()) continue;
      this.#waiting.delete(condition);
      resolve();
    }
  }

  #hear(message: Message): void {
    this.messages.push(message);
    if (message.method !== 'notifications/tasks') return;
    const task = taskIn(message.params);
    this.latest.set(task.taskId, task);
  }
}
