/** A client of 2026-07-28 with bare hands: what it sends and gets is exactly what is on the wire. */
import { Agent, type IncomingMessage, request } from 'node:http';
import type { JsonObject } from '../../../src/model/json.ts';
import { headersOf, requestOf } from '../../kit/wire.ts';
import { capabilitiesOf, idempotencyKey, taskIn, type WireTask } from './protocol.ts';
import { Stream } from './stream.ts';

/** An error that came back instead of a result. */
export class Refused extends Error {
  readonly code: number | undefined;

  constructor(message: string, code?: number) {
    super(message);
    this.code = code;
  }
}

export class Peer {
  readonly #url: string;
  readonly #token: string;
  readonly #agent: Agent;
  /** One connection each. */
  readonly #streaming = new Agent({ keepAlive: false });
  readonly #capabilities: JsonObject;
  #sent = 0;

  constructor(url: string, { connections = 64, token = 'ours', takesTasks = true } = {}) {
    this.#capabilities = capabilitiesOf(takesTasks);
    this.#url = url;
    this.#token = token;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections, maxFreeSockets: connections });
  }

  /** Calls a tool, and gives the task that the call became. */
  async call(
    name: string,
    input: JsonObject = {},
    signal?: AbortSignal,
    { key }: { readonly key?: string } = {},
  ): Promise<WireTask> {
    const meta = key === undefined ? {} : { [idempotencyKey]: key };
    const task = await this.#ask('tools/call', name, { name, arguments: input, _meta: meta }, signal);
    if (task.resultType !== 'task') throw new Refused(`No task, but ${JSON.stringify(task)}`);
    return task as WireTask;
  }

  /** What `tasks/get` says, but for what belongs to the answer and not to the task. */
  async get(taskId: string, signal?: AbortSignal): Promise<WireTask> {
    return taskIn(await this.#ask('tasks/get', taskId, { taskId }, signal));
  }

  async update(taskId: string, inputResponses: JsonObject, signal?: AbortSignal): Promise<void> {
    await this.#ask('tasks/update', taskId, { taskId, inputResponses }, signal);
  }

  async cancel(taskId: string, signal?: AbortSignal): Promise<void> {
    await this.#ask('tasks/cancel', taskId, { taskId }, signal);
  }

  /** Resolves when the response has begun. */
  async listen(taskIds: readonly string[], signal?: AbortSignal, also: JsonObject = {}): Promise<Stream> {
    const id = `listen ${++this.#sent}`;
    const params = { notifications: { ...also, taskIds: [...taskIds] } };
    const agent = this.#streaming;
    return new Stream(id, await this.#post({ agent, method: 'subscriptions/listen', id, params, signal }));
  }

  /** Closes every connection, those of streams too. */
  close(): void {
    this.#agent.destroy();
    this.#streaming.destroy();
  }

  async #ask(method: string, name: string, params: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    const response = await this.#post({ agent: this.#agent, method, id: ++this.#sent, params, signal });
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    const { result, error } = JSON.parse(text) as { result?: JsonObject; error?: JsonObject };
    if (!result)
      throw new Refused(
        `${method} ${name}: ${response.statusCode} ${JSON.stringify(error)}`,
        error?.code as number | undefined,
      );
    return result;
  }

  #post({ agent, method, id, params, signal }: Post): Promise<IncomingMessage> {
    const body = JSON.stringify(requestOf(id, method, params, this.#capabilities));
    const headers = { ...headersOf(method, params, this.#token), 'content-length': Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      request(this.#url, { agent, method: 'POST', headers, ...(signal && { signal }) }, resolve)
        .on('error', reject)
        .end(body);
    });
  }
}

interface Post {
  readonly agent: Agent;
  readonly method: string;
  readonly id: string | number;
  readonly params: JsonObject;
  readonly signal?: AbortSignal | undefined;
}
