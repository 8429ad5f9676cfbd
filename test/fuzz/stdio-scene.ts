/** The fixture server as a child process, spoken to line by line. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { subscriptionIdKey } from '../../src/protocol/dialects/2026-07-28/names.ts';
import type { Facts } from './methods.ts';
import type { Answer } from './oracle.ts';
import { type Loose, request } from './requests.ts';
import { tampered } from './scene.ts';
import { Stage } from './stage.ts';

const program = fileURLToPath(new URL('../fixture/main.ts', import.meta.url));
const watcher = new URL('./report-prototypes.ts', import.meta.url).href;

export class StdioScene implements AsyncDisposable {
  facts!: Facts;
  stage!: Stage;
  /** Lines that are not JSON-RPC, and news for which nobody has asked. */
  readonly strays: string[] = [];
  readonly news: Loose[] = [];
  /** Answers that came when nobody waited for them any more. */
  readonly late: Loose[] = [];
  readonly exit: Promise<readonly [code: number | null, signal: string | null]>;
  readonly #child: ChildProcess;
  readonly #heard = new Map<unknown, (message: Loose) => void>();
  readonly #subscriptions = new Set<unknown>();
  #requests = 0;

  private constructor() {
    const options = [
      '--conditions=holdfast-source',
      '--import',
      watcher,
      program,
      '--stdio',
      '--store',
      'memory:',
    ];
    this.#child = spawn(process.execPath, options, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.exit = once(this.#child, 'exit') as Promise<[number | null, string | null]>;
    this.#child.stderr!.resume();
    this.#child.stdin!.on('error', () => {}); // It may have ended already.
    createInterface({ input: this.#child.stdout! }).on('line', (line) => this.#hear(line));
  }

  static async open(): Promise<StdioScene> {
    const scene = new StdioScene();
    scene.stage = await Stage.set((method, params) => scene.ask(method, params));
    const { staged } = scene.stage;
    // Nothing here is anybody else's; these do not exist.
    const [foreign = '', ...hidden] = Object.values(staged.waiting).map((id) => [...id].reverse().join(''));
    scene.facts = { ...staged, isAlone: true, foreign, hidden, wrongStates: tampered(staged.parked) };
    return scene;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null) this.#child.kill('SIGKILL');
    await this.exit;
  }

  /** Ends the input; the server is to end by itself. */
  async end(): Promise<readonly [code: number | null, signal: string | null]> {
    this.#child.stdin!.end();
    return this.exit;
  }

  async ask(method: string, params: Loose): Promise<Loose> {
    const id = this.freshId();
    const answered = this.#answerTo(id);
    this.write(Buffer.from(JSON.stringify(request(id, method, params))));
    const { result, error } = await Promise.race([answered, this.#gone()]);
    if (error) throw new Error(`${method} was refused: ${error.message}`);
    return result;
  }

  freshId(): string {
    return `request ${this.#requests++}`;
  }

  write(line: Buffer, end = '\n'): void {
    this.#child.stdin!.write(Buffer.concat([line, Buffer.from(end)]));
  }

  /** Sends a line. Where silence is an answer, nothing counts as said once a later request has been answered. */
  async send(line: Buffer, id: unknown, mayBeSilent: boolean): Promise<Answer> {
    const answered = this.#answerTo(id);
    this.write(line);
    const silent = mayBeSilent
      ? this.ask('server/discover', {}).then(() => undefined)
      : new Promise<never>(() => {});
    const said = await Promise.race([answered, silent, this.#gone()]);
    this.#heard.delete(id);
    if (said === undefined) return { kind: 'nothing' };
    if (said.method !== undefined) await this.#unsubscribe(id);
    return { kind: 'answered', text: JSON.stringify(said) };
  }

  async #unsubscribe(id: unknown): Promise<void> {
    const params = { requestId: id };
    this.write(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })));
    await this.ask('server/discover', {});
    this.#subscriptions.delete(id);
  }

  #answerTo(id: unknown): Promise<Loose> {
    const { promise, resolve } = Promise.withResolvers<Loose>();
    this.#heard.set(id, resolve);
    return promise;
  }

  async #gone(): Promise<never> {
    throw new Error(`the server ended: ${await this.exit}`);
  }

  #hear(line: string): void {
    const message = asMessage(line);
    if (!message) {
      this.strays.push(line);
      return;
    }
    if (message.method === 'notifications/subscriptions/acknowledged') {
      const id = message.params._meta[subscriptionIdKey];
      this.#subscriptions.add(id);
      this.#heard.get(id)?.(message);
    } else if (message.method !== undefined) {
      this.news.push(message);
      const id = message.params?._meta?.[subscriptionIdKey];
      if (!this.#subscriptions.has(id)) this.strays.push(line);
    } else {
      const hear = this.#heard.get(message.id) ?? ((said: Loose) => this.late.push(said));
      this.#heard.delete(message.id);
      hear(message);
    }
  }
}

function asMessage(line: string): Loose {
  try {
    const message = JSON.parse(line);
    return message?.jsonrpc === '2.0' ? message : undefined;
  } catch {
    return undefined;
  }
}
