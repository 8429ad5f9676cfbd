/** The fixture server as a child process, spoken to line by line in the words of 2026-07-28. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Message } from '../revision-2025-11-25/peer.ts';
import { rawMessage } from '../serving/raw-client.ts';

const program = fileURLToPath(new URL('../fixture/main.ts', import.meta.url));

export class Pipe implements AsyncDisposable {
  readonly news: Message[] = [];
  readonly #child: ChildProcess;
  readonly #capabilities: object;
  readonly #answers = new Map<unknown, (message: Message) => void>();
  readonly #listeners = new Set<() => void>();

  constructor(capabilities: object, options: readonly string[] = ['--drafts']) {
    this.#capabilities = capabilities;
    const words = ['--conditions=holdfast-source', program, '--stdio', '--store', 'memory:', ...options];
    this.#child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.#child.stdout! }).on('line', (line) => this.#hear(JSON.parse(line)));
  }

  /** The answer; of a request to listen there is none until it ends. */
  request(method: string, params: object = {}): Promise<Message> {
    const { id, answer } = this.send(method, params);
    return answer.finally(() => this.#answers.delete(id));
  }

  send(method: string, params: object = {}): { id: unknown; answer: Promise<Message> } {
    const message = rawMessage(method, params, { tasks: false, capabilities: this.#capabilities });
    const { promise: answer, resolve } = Promise.withResolvers<Message>();
    this.#answers.set(message.id, resolve);
    this.#child.stdin!.write(`${JSON.stringify(message)}\n`);
    return { id: message.id, answer };
  }

  async until(isIt: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.news.find(isIt);
      if (found) return found;
      await new Promise<void>((resolve) => {
        const listener = () => {
          this.#listeners.delete(listener);
          resolve();
        };
        this.#listeners.add(listener);
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.stdin!.end();
    await ended;
  }

  #hear(message: Message): void {
    if (message.method === undefined) return this.#answers.get(message.id)?.(message);
    this.news.push(message);
    for (const listener of [...this.#listeners]) listener();
  }
}
