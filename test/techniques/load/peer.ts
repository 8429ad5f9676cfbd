/** A client of 2026-07-28 that keeps many connections, and throws what is refused. */
import { Agent } from 'node:http';
import type { JsonObject } from '../../../src/model/json.ts';
import { RawClient, type Subscription } from '../../serving/raw-client.ts';
import { idempotencyKey, taskIn, type WireTask } from './protocol.ts';

/** An open subscription, with what was last said of each task. */
export type Stream = Subscription & { readonly latest: Map<string, WireTask> };

export class Refused extends Error {
  readonly code: number | undefined;

  constructor(message: string, code?: number) {
    super(message);
    this.code = code;
  }
}

export class Peer {
  readonly #agents: readonly Agent[];
  readonly #client: RawClient;
  /** One connection each. */
  readonly #streaming: RawClient;

  constructor(url: string, { connections = 64, token = 'ours', takesTasks: tasks = true } = {}) {
    const kept = new Agent({ keepAlive: true, maxSockets: connections, maxFreeSockets: connections });
    const single = new Agent({ keepAlive: false });
    this.#agents = [kept, single];
    this.#client = new RawClient(url, { token, tasks, agent: kept });
    this.#streaming = new RawClient(url, { token, tasks, agent: single });
  }

  async call(name: string, input: JsonObject = {}, signal?: AbortSignal, key?: string): Promise<WireTask> {
    const _meta = key === undefined ? {} : { [idempotencyKey]: key };
    const task = await this.#ask('tools/call', { name, arguments: input, _meta }, signal);
    if (task.resultType !== 'task') throw new Refused(`No task, but ${JSON.stringify(task)}`);
    return task as WireTask;
  }

  /** What `tasks/get` says, but for what belongs to the answer and not to the task. */
  async get(taskId: string, signal?: AbortSignal): Promise<WireTask> {
    return taskIn(await this.#ask('tasks/get', { taskId }, signal));
  }

  async update(taskId: string, inputResponses: JsonObject, signal?: AbortSignal): Promise<void> {
    await this.#ask('tasks/update', { taskId, inputResponses }, signal);
  }

  async cancel(taskId: string, signal?: AbortSignal): Promise<void> {
    await this.#ask('tasks/cancel', { taskId }, signal);
  }

  /** Resolves when the response has begun. */
  async listen(taskIds: readonly string[], signal?: AbortSignal, also: JsonObject = {}): Promise<Stream> {
    const latest = new Map<string, WireTask>();
    const stream = await this.#streaming.listen(taskIds, also, signal);
    stream.hearers.add(({ method, params }) => {
      if (method === 'notifications/tasks') latest.set(params.taskId, taskIn(params));
    });
    return Object.assign(stream, { latest });
  }

  close(): void {
    for (const agent of this.#agents) agent.destroy();
  }

  async #ask(method: string, params: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    const { status, result, error } = await this.#client.request(method, params, signal);
    if (!result) throw new Refused(`${method}: ${status} ${JSON.stringify(error)}`, error?.code);
    return result;
  }
}
