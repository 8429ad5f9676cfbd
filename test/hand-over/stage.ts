/** A server that hands calls over, in this process, with a clock that the test moves. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { onTestFinished } from 'vitest';
import { type AttachOptions, createTasks, type Tasks, type TasksOptions } from '../../src/index.ts';
import { joinOf } from '../../src/model/task.ts';
import { staticTokens } from '../../src/server.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { ManualClock } from '../../src/testing.ts';
import { attached } from '../kit/attached.ts';
import { connectSdk } from '../kit/sdk.ts';
import { serve } from '../kit/serve.ts';
import { RawClient, type RawClientOptions } from '../serving/raw-client.ts';
import { handOverTools } from './tools.ts';

export interface StageOptions extends Partial<TasksOptions> {
  readonly attach?: AttachOptions;
  /** Clients by their tokens, which must be long. */
  readonly tokens?: Readonly<Record<string, string>>;
}

export class Stage {
  readonly tasks: Tasks;
  readonly clock: ManualClock;
  readonly url: string;

  constructor(tasks: Tasks, clock: ManualClock, url: string) {
    this.tasks = tasks;
    this.clock = clock;
    this.url = url;
  }

  static async open(options: StageOptions = {}): Promise<Stage> {
    const { attach = {}, tokens, ...more } = options;
    const clock = new ManualClock();
    const store = await openSqlite('memory:', { clock });
    const tasks = createTasks({ store, clock, tools: handOverTools, ...more });
    await tasks.work({ grace: '50ms' });
    const verified = tokens && Object.entries(tokens).map(([token, clientId]) => [token, { clientId }]);
    const auth = verified && { auth: staticTokens(Object.fromEntries(verified)) };
    const { url } = await serve(tasks, { grace: '50ms', ...auth }, attached(tasks, attach));
    return new Stage(tasks, clock, url);
  }

  /** A client of 2026-07-28 that sends what it is told. It declares no tasks, and can be asked nothing. */
  raw(options: RawClientOptions = {}): RawClient {
    return new RawClient(this.url, { tasks: false, capabilities: {}, ...options });
  }

  /** The SDK's client on 2026-07-28. */
  async later(capabilities: object = {}): Promise<Client> {
    const client = await connectSdk(this.url, 'auto', { capabilities });
    onTestFinished(() => client.close());
    return client;
  }

  /** The client of the SDK before it, on 2025-11-25. */
  async older(capabilities: object = {}): Promise<OlderClient> {
    const client = new OlderClient({ name: 'hand-over', version: '1' }, { capabilities });
    await client.connect(new OlderTransport(new URL(this.url)) as Parameters<OlderClient['connect']>[0]);
    onTestFinished(() => client.close());
    return client;
  }

  /** Lets time pass, a second at a time, until it has come about. */
  async passing<T>(awaited: Promise<T>): Promise<T> {
    let isSettled = false;
    void Promise.allSettled([awaited]).then(() => {
      isSettled = true;
    });
    while (!isSettled) {
      this.clock.advance(1_000);
      await pause(2);
    }
    return awaited;
  }

  /** Calls a tool, waits the window out, and gives the id of the task that it was handed over as. */
  async handedOver(client: RawClient, tool: string, input: object = {}): Promise<string> {
    const { result } = await this.passing(client.call(tool, input));
    return idIn(result);
  }

  /** Lets a tool go on that waits for it. */
  async release(id: string): Promise<void> {
    await this.tasks.sendEvent(id, 'go');
  }
}

const handed = 'dev.holdfast/handed-over';

/** The task that an answer tells of; an answer that tells of none is the result itself. */
export function idIn(result: object): string {
  if (!isHandedOver(result)) throw new Error(`This was not handed over: ${JSON.stringify(result)}`);
  return (result as { _meta: Record<string, { taskId: string }> })._meta[handed]!.taskId;
}

export function isHandedOver(result: object): boolean {
  return handed in ((result as { _meta?: object })._meta ?? {});
}

/** Which call a task answers: null if its connection was lost, undefined if none can join it. */
export async function answeringOf(tasks: Tasks, id: string): Promise<string | null | undefined> {
  const { calls, store } = await tasks.opened();
  const task = await store.get(id);
  const key = task && joinOf(task)?.key;
  return (await calls.undelivered(key ?? '')).find(({ taskId }) => taskId === id)?.answering;
}
