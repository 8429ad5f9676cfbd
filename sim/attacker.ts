/**
 * An authorized caller without tasks who tries to access those of others. Every attempt must fail as if the tasks did
 * not exist. Plain calls that were not handed over must stay hidden even from their owner.
 */
import type { JsonObject } from '../src/model/json.ts';
import type { Random } from './random.ts';
import { type Servers, tokens } from './servers.ts';

const modern = '2026-07-28';
const older = '2025-11-25';
const tries = ['read', 'cancel', 'answer', 'listen', 'list', 'peek'] as const;
export const strangeKinds: readonly string[] = tries.map((what) => `strange ${what}`);

export class Attacker {
  readonly #fleet: Servers;
  readonly #random: Random;
  readonly #count: (what: string) => void;
  readonly #send: typeof fetch;
  #sent = 0;

  constructor(fleet: Servers, count: (what: string) => void) {
    this.#fleet = fleet;
    this.#random = fleet.world.random();
    this.#count = count;
    this.#send = fleet.network.fetchOf(fleet.world.process('stranger'));
  }

  start(times: number): void {
    const { outside } = this.#fleet.world;
    for (let n = 0; n < times; n++)
      outside.setTimer(() => void this.#try(), this.#random.between(2_000, 18_000));
  }

  async #try(): Promise<void> {
    const { witness } = this.#fleet;
    const tasks = [...witness.tasks.values()];
    if (tasks.length === 0) return;
    const plain = tasks.filter(({ unpublished }) => unpublished);
    const what =
      plain.length > 0 && this.#random.chance(0.5) ? 'peek' : this.#random.pick(tries.slice(0, -1));
    const { id: taskId, owner } = this.#random.pick(what === 'peek' ? plain : tasks);
    this.#count(`strange ${what}`);
    try {
      const shown = await this.#shown(what, taskId, owner);
      if (shown)
        witness.complain(`${witness.nameOf(taskId)}: shown to a stranger who tried to ${what}: ${shown}`);
    } catch (error) {
      witness.note(`the stranger received ${error}`);
    }
  }

  /** Returns any data in the answer that only the owner may see. */
  async #shown(what: (typeof tries)[number], taskId: string, owner: string): Promise<string | undefined> {
    switch (what) {
      case 'read':
        return resultOf(await this.#ask('tasks/get', { taskId }));
      case 'cancel':
        // The witness checks that the task is not cancelled.
        return void (await this.#ask('tasks/cancel', { taskId }));
      case 'answer':
        return resultOf(
          await this.#ask('tasks/update', { taskId, inputResponses: { q1: { action: 'cancel' } } }),
        );
      case 'listen': {
        const text = await this.#ask('subscriptions/listen', { notifications: { taskIds: [taskId] } });
        return text.includes(taskId) ? text : undefined;
      }
      case 'list':
        return this.#listed();
      case 'peek': {
        const token = owner.includes('ada') ? tokens.ada : tokens.bob;
        const text = resultOf(await this.#ask('tasks/get', { taskId }, token));
        // The call may have been handed over in the meantime.
        return this.#fleet.witness.tasks.get(taskId)?.unpublished ? text : undefined;
      }
    }
  }

  async #ask(method: string, params: JsonObject, token: string = tokens.eve): Promise<string> {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': modern,
      'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    };
    const subject = params.taskId as string | undefined;
    const headers = { 'mcp-method': method, ...(subject !== undefined && { 'mcp-name': subject }) };
    const response = await this.#post(modern, { method, params: { ...params, _meta } }, headers, token);
    return firstOf(response);
  }

  async #listed(): Promise<string | undefined> {
    const clientInfo = { name: 'stranger', version: '1' };
    const params = { protocolVersion: older, capabilities: {}, clientInfo };
    const opened = await this.#post(older, { method: 'initialize', params });
    await firstOf(opened);
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    const text = await firstOf(await this.#post(older, { method: 'tasks/list', params: {} }, session));
    return text.includes('"taskId"') ? text : undefined;
  }

  #post(
    revision: string,
    message: JsonObject,
    headers: Readonly<Record<string, string>> = {},
    token: string = tokens.eve,
  ): Promise<Response> {
    return this.#send('http://localhost/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${token}`,
        'mcp-protocol-version': revision,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++this.#sent, ...message }),
    });
  }
}

/** The first chunk of an answer: the whole body, or the first event of a stream. */
async function firstOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const piece = await reader?.read();
  void reader?.cancel().catch(() => {});
  return new TextDecoder().decode(piece?.value);
}

function resultOf(text: string): string | undefined {
  return text.includes('"result"') ? text : undefined;
}
