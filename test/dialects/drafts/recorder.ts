/** A client that writes down every message in both directions, with placeholders for what differs from run to run. */
import { type Message, messagesIn } from '../../kit/wire.ts';

export interface Said {
  readonly from: 'client' | 'server';
  readonly message: Message;
}

const taskId = /\b[a-z2-7]{32}\b/g;
const requestId = /^[a-z2-7]{12}-\d+(\.[\w-]+)?$/;
const moment = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;
const durations = ['ttl', 'ttlMs', 'keepAlive'];
const minuteMs = 60_000;
const clientInfo = { name: 'example-client', version: '1.0.0' };

export class Recorder {
  readonly #url: string;
  /** To whatever the server asks. */
  readonly #answer: Message;
  readonly #said: Said[] = [];
  #meta: object | undefined;
  #sessionId: string | null | undefined;
  #lastId = 0;

  constructor(url: string, answer: Message) {
    this.#url = url;
    this.#answer = answer;
  }

  async open(capabilities: object): Promise<void> {
    await this.request('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo });
    await this.#send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }

  /** From now on requests are those of 2026-07-28, which say everything themselves. */
  speakLater(capabilities: object): void {
    this.#meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': clientInfo,
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    };
  }

  async request(method: string, said: Message): Promise<Message> {
    const id = ++this.#lastId;
    const params = this.#meta ? { ...said, _meta: this.#meta } : said;
    const response = await this.#send({ jsonrpc: '2.0', id, method, params });
    this.#sessionId ??= response.headers.get('mcp-session-id');
    for await (const message of messagesIn(response)) {
      this.#said.push({ from: 'server', message });
      if (message.id === id && !('method' in message)) return message.result;
      if ('method' in message && 'id' in message)
        await this.#send({ jsonrpc: '2.0', id: message.id, result: this.#answer });
    }
    throw new Error(`${method} was not answered.`);
  }

  #send(message: Message): Promise<Response> {
    this.#said.push({ from: 'client', message });
    const name = message.params?.taskId ?? message.params?.name;
    return fetch(this.#url, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': this.#meta ? '2026-07-28' : '2025-11-25',
        ...(this.#meta && { 'mcp-method': message.method }),
        ...(this.#meta && name !== undefined && { 'mcp-name': name }),
        ...(this.#sessionId && { 'mcp-session-id': this.#sessionId }),
      },
      body: JSON.stringify(message),
    });
  }

  /** What was said, the same in every run. */
  transcript(): Said[] {
    const known = new Map<string, string>();
    const named = (kind: string, id: string) => {
      const count = [...known.values()].filter((name) => name.startsWith(kind)).length;
      if (!known.has(id)) known.set(id, `${kind}-${count + 1}`);
      return known.get(id)!;
    };
    const text = JSON.stringify(this.#said, (key, value) => {
      if (typeof value === 'number' && durations.includes(key))
        return Math.round(value / minuteMs) * minuteMs;
      if (typeof value !== 'string') return value;
      if (moment.test(value)) return '<time>';
      if (requestId.test(value)) return named('question', value);
      return value.replaceAll(taskId, (id) => named('task', id));
    });
    return (JSON.parse(text) as Said[]).map(({ from, message }) => ({ from, message: inOrder(message) }));
  }
}

/** The order of keys means nothing; people read faster if it is always the same. */
function inOrder({ jsonrpc, id, method, ...rest }: Message): Message {
  return { jsonrpc, ...(id !== undefined && { id }), ...(method !== undefined && { method }), ...rest };
}
