/** A client on the pipes of a fixture server. */
import { join } from 'node:path';
import { expect } from 'vitest';
import { Program, sources } from '../../kit/process.ts';
import { rawMessage } from '../../serving/raw-client.ts';
import { type Message, revision } from '../revision-2025-11-25/peer.ts';
import { flagging } from './peer.ts';

const main = join(import.meta.dirname, '../../fixture/main.ts');

export class StdioPeer implements AsyncDisposable {
  /** What the server said without being asked. */
  readonly unasked: Message[] = [];
  readonly #server: Program;
  readonly #later: object | undefined;
  readonly #answers = new Map<unknown, (message: Message) => void>();

  /** With capabilities it speaks 2026-07-28, which says them in each request. */
  constructor(later?: object, ...options: readonly string[]) {
    this.#later = later;
    const command = sources('--disable-warning=ExperimentalWarning', main, '--stdio', ...options);
    this.#server = new Program(command, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#server.lines.on('line', (line) => {
      const message = JSON.parse(line) as Message;
      const answered = 'method' in message ? undefined : this.#answers.get(message.id);
      if (answered) answered(message);
      else this.unasked.push(message);
    });
  }

  /** In a session of 2025-11-25, on a server that has every draft on. */
  static async open(...drafts: readonly string[]): Promise<StdioPeer> {
    const peer = new StdioPeer(undefined, '--drafts');
    await peer.request('initialize', {
      protocolVersion: revision,
      clientInfo: { name: 'peer', version: '1' },
      capabilities: flagging(...drafts),
    });
    peer.#server.tell({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return peer;
  }

  request(method: string, params: object = {}): Promise<Message> {
    return this.send(method, params).answer;
  }

  /** A request whose answer may never come. */
  send(method: string, params: object): { readonly id: number; readonly answer: Promise<Message> } {
    const later = rawMessage(method, params, { tasks: false, capabilities: this.#later ?? {} });
    const { promise: answer, resolve } = Promise.withResolvers<Message>();
    this.#answers.set(later.id, resolve);
    this.#server.tell(this.#later ? later : { ...later, params });
    return { id: later.id, answer };
  }

  /** The first that is it, of those that came unasked and those that come. */
  async until(isIt: (message: Message) => boolean): Promise<Message> {
    await expect.poll(() => this.unasked.some(isIt), { interval: 5 }).toBe(true);
    return this.unasked.find(isIt)!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.child.stdin!.end();
    await this.#server.exit;
  }
}
