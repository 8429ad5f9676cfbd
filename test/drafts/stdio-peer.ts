/** A client of 2025-11-25 on the pipes of a fixture server that has every draft on. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Message, revision } from '../revision-2025-11-25/peer.ts';
import { flagging } from './peer.ts';

const main = join(import.meta.dirname, '../fixture/main.ts');

export class StdioPeer {
  readonly #child: ChildProcess;
  readonly #answers = new Map<number, (message: Message) => void>();
  /** What the server said without being asked. */
  readonly unasked: Message[] = [];
  #lastId = 0;

  private constructor() {
    const args = ['--conditions=holdfast-source', '--disable-warning=ExperimentalWarning', main];
    this.#child = spawn(process.execPath, [...args, '--stdio', '--drafts'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      const message = JSON.parse(line) as Message;
      const answered = 'method' in message ? undefined : this.#answers.get(message.id);
      if (answered) answered(message);
      else this.unasked.push(message);
    });
  }

  static async open(...drafts: readonly string[]): Promise<StdioPeer> {
    const peer = new StdioPeer();
    await peer.request('initialize', {
      protocolVersion: revision,
      clientInfo: { name: 'peer', version: '1' },
      capabilities: flagging(...drafts),
    });
    peer.tell({ method: 'notifications/initialized' });
    return peer;
  }

  tell(message: object): void {
    this.#child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  request(method: string, params: object = {}): Promise<Message> {
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      this.#answers.set(id, resolve);
      this.tell({ id, method, params });
    });
  }

  async end(): Promise<void> {
    const closed = once(this.#child, 'close');
    this.#child.stdin!.end();
    await closed;
  }
}
