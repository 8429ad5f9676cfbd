/** A client of 2025-11-25 over HTTP that sends exactly what it is told, in a session of its own. */
import { type ServeFixtureOptions, serveFixture } from '../../kit/serve.ts';
import { untilStatus } from '../../kit/until.ts';
import { frames, type Listening, listening, type Message, messagesIn } from '../../kit/wire.ts';

export { frames, type Message } from '../../kit/wire.ts';

export const revision = '2025-11-25';
export const relatedTask = 'io.modelcontextprotocol/related-task';

export interface PeerOptions {
  readonly capabilities?: object;
  readonly token?: string;
  readonly protocolVersion?: string;
}

export class Peer {
  readonly #url: string;
  readonly #options: PeerOptions;
  sessionId: string | undefined;
  #lastId = 0;

  constructor(url: string, options: PeerOptions = {}) {
    this.#url = url;
    this.#options = options;
  }

  async open(): Promise<Message> {
    const { capabilities = { elicitation: {}, sampling: {}, roots: {} }, protocolVersion = revision } =
      this.#options;
    const clientInfo = { name: 'peer', version: '1' };
    const { message } = await this.send('initialize', { protocolVersion, clientInfo, capabilities });
    await this.post({ method: 'notifications/initialized' });
    return message.result;
  }

  post(message: object, signal?: AbortSignal): Promise<Response> {
    return fetch(this.#url, {
      method: 'POST',
      headers: { ...this.headers(), 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      ...(signal && { signal }),
    });
  }

  /** Sends a request, and hands over what comes on its stream. */
  async exchange(request: object, hear: (message: Message) => void, signal?: AbortSignal): Promise<void> {
    for await (const message of messagesIn(await this.post(request, signal))) hear(message);
  }

  headers(): Record<string, string> {
    const { token, protocolVersion = revision } = this.#options;
    return {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': protocolVersion,
      ...(this.sessionId !== undefined && { 'mcp-session-id': this.sessionId }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
  }

  /** Sends a request and gives its answer, with all that came on its stream before. */
  async send(method: string, params: object = {}, signal?: AbortSignal) {
    const id = ++this.#lastId;
    const response = await this.post({ id, method, params }, signal);
    this.sessionId ??= response.headers.get('mcp-session-id') ?? undefined;
    const before: Message[] = [];
    for await (const message of messagesIn(response)) {
      if (!('method' in message)) return { message, before, response };
      before.push(message);
    }
    throw new Error('The stream ended without an answer.');
  }

  async request(method: string, params: object = {}): Promise<Message> {
    return (await this.send(method, params)).message;
  }

  call(name: string, input: object = {}, more: object = {}): Promise<Message> {
    return this.request('tools/call', { name, arguments: input, ...more });
  }

  async start(name: string, input: object = {}, task: object = {}): Promise<string> {
    const { result } = await this.call(name, input, { task });
    return result.task.taskId;
  }

  async get(taskId: string): Promise<Message> {
    return this.request('tasks/get', { taskId });
  }

  until(taskId: string, status: string): Promise<Message> {
    return untilStatus(() => this.get(taskId), status);
  }

  /** The messages of a blocked `tasks/result`, as they come; the last one is the answer. */
  async *result(taskId: string, signal?: AbortSignal): AsyncGenerator<Message> {
    const request = { id: ++this.#lastId, method: 'tasks/result', params: { taskId } };
    yield* frames(await this.post(request, signal));
  }

  /** The stream that belongs to no request. */
  async *standalone(signal?: AbortSignal): AsyncGenerator<Message> {
    yield* frames(await this.listen(signal));
  }

  /** … as soon as it is open. */
  listen(signal?: AbortSignal): Promise<Response> {
    return fetch(this.#url, { headers: this.headers(), ...(signal && { signal }) });
  }

  answer(id: unknown, result: object): Promise<Response> {
    return this.post({ id, result });
  }
}

/** The fixture server and a client with an open session, until the end of the test. */
export async function served(options: ServeFixtureOptions = {}) {
  const server = await serveFixture({ minRetention: '1s', ...options });
  const peer = new Peer(server.url, options.tokens && { token: Object.keys(options.tokens)[0]! });
  await peer.open();
  return { ...server, peer };
}

/** The standalone stream of a session, open before anything is asked. */
export function openEar(peer: Peer, hear?: (message: Message) => void): Promise<Listening> {
  return listening((signal) => peer.listen(signal), hear);
}
