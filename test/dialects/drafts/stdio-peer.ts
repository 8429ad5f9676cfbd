/** A client on the pipes of a fixture server. */
import { join } from 'node:path';
import { Inbox } from '../../kit/inbox.ts';
import { Program, sources } from '../../kit/process.ts';
import { rawMessage } from '../../serving/raw-client.ts';
import { type Message, revision } from '../revision-2025-11-25/peer.ts';
import { flagging } from './peer.ts';

const main = join(import.meta.dirname, '../../fixture/main.ts');

export class StdioPeer extends Inbox implements AsyncDisposable {
  readonly #server: Program;
  readonly #later: object | undefined;
  readonly #sent = new Set<unknown>();

  /** With capabilities it speaks 2026-07-28, which says them in each request. */
  constructor(later?: object, ...options: readonly string[]) {
    const command = sources('--disable-warning=ExperimentalWarning', main, '--stdio', ...options);
    const server = new Program(command, { stdio: ['pipe', 'pipe', 'inherit'] });
    super(server.child.stdout!);
    // The inbox passes blank lines over. Here they are mistakes, as anything that is not JSON.
    server.lines.on('line', (line) => void JSON.parse(line));
    this.#server = server;
    this.#later = later;
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

  /** What the server said without being asked. */
  get unasked(): Message[] {
    return this.messages.filter((message) => 'method' in message || !this.#sent.has(message.id));
  }

  request(method: string, params: object = {}): Promise<Message> {
    const sent = this.send(method, params);
    return this.message((message) => message.id === sent && !('method' in message));
  }

  /** Sends a request whose answer may never come, and returns its id. */
  send(method: string, params: object): number {
    const later = rawMessage(method, params, { tasks: false, capabilities: this.#later ?? {} });
    this.#sent.add(later.id);
    this.#server.tell(this.#later ? later : { ...later, params });
    return later.id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.child.stdin!.end();
    await this.#server.exit;
  }
}
