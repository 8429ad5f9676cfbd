/** A client at the other end of a server's standard input and output that sends exactly what it is told. */
import type { Readable, Writable } from 'node:stream';
import { callParams, type RawClientOptions, rawMessage } from '../serving/raw-client.ts';
import { Inbox } from './inbox.ts';
import type { Message } from './wire.ts';

export class PipeClient extends Inbox {
  readonly #input: Writable;
  readonly #options: RawClientOptions;
  readonly #sent = new Set<unknown>();
  #inSession = false;

  /** Its requests are those of 2026-07-28, which say everything themselves, until it opens a session. */
  constructor(output: Readable, input: Writable, options: RawClientOptions = {}) {
    super(output);
    this.#input = input;
    this.#options = options;
  }

  /** Opens a session of 2025-11-25, which is the connection itself. */
  async open(capabilities: object = { elicitation: {} }): Promise<this> {
    this.#inSession = true;
    const clientInfo = { name: 'peer', version: '1' };
    await this.request('initialize', { protocolVersion: '2025-11-25', clientInfo, capabilities });
    this.post({ method: 'notifications/initialized' });
    return this;
  }

  post(message: object): void {
    this.#input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** Sends a request whose answer may never come, and returns its id. */
  send(method: string, params: object = {}): number {
    const message = rawMessage(method, params, this.#options);
    this.#sent.add(message.id);
    this.post(this.#inSession ? { ...message, params } : message);
    return message.id;
  }

  call(tool: string, input?: object): number {
    return this.send('tools/call', callParams(tool, input));
  }

  answerTo(sent: unknown): Promise<Message> {
    return this.message((message) => message.id === sent && !('method' in message));
  }

  request(method: string, params?: object): Promise<Message> {
    return this.answerTo(this.send(method, params));
  }

  /** Sends a request, and hands over everything that comes until it is answered or given up. */
  async exchange(request: Message, hear: (message: Message) => void, signal: AbortSignal): Promise<void> {
    const { promise: isGivenUp, resolve } = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => resolve());
    this.hearers.add(hear);
    this.post(request);
    await Promise.race([this.answerTo(request.id), isGivenUp]);
    this.hearers.delete(hear);
  }

  get unasked(): Message[] {
    return this.messages.filter((message) => 'method' in message || !this.#sent.has(message.id));
  }
}
