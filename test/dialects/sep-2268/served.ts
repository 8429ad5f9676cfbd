/** A server with the drafts on, and its clients: those that know subtasks and those that do not, of both revisions. */
import { McpServer, type McpServerFactory } from '@modelcontextprotocol/server';
import { createTasks, type Tasks, type TasksOptions } from 'holdfast';
import { serveHttp } from 'holdfast/server';
import { openSqlite } from 'holdfast/sqlite';
import { onTestFinished } from 'vitest';
import { withoutLimits } from '../../fixture/server.ts';
import { tokensOf } from '../../fixture/tokens.ts';
import { RawClient } from '../../serving/raw-client.ts';
import { type Message, Peer } from '../revision-2025-11-25/peer.ts';
import { grownTools, type Plan } from './grown-tools.ts';

export const tasksExtension = 'io.modelcontextprotocol/tasks';
export const subtasksExtension = 'dev.holdfast/subtasks';

export interface Served {
  readonly tasks: Tasks;
  readonly url: string;
  /** A session of 2025-11-25 that flags subtasks. */
  aware(token?: string): Promise<Peer>;
  /** One that does not. */
  unaware(token?: string): Promise<Peer>;
  /** Requests of 2026-07-28 that list the extension for subtasks. */
  later(token?: string): RawClient;
  laterUnaware(token?: string): RawClient;
  stop(): Promise<void>;
}

export type ServedOptions = Partial<TasksOptions> & {
  readonly port?: number;
  readonly concurrency?: number;
  /** Tokens are owners; `alice` and `bob` by default. */
  readonly tokens?: readonly string[];
};

/** Runs until it is stopped. */
export async function serving(options: ServedOptions = {}): Promise<Served> {
  const { port = 0, concurrency = 64, tokens = ['alice', 'bob'], ...more } = options;
  const { clock } = more;
  const tasks = createTasks({
    store: () => openSqlite('memory:', clock ? { clock } : {}),
    tools: grownTools,
    limits: withoutLimits,
    drafts: ['sep-2268'],
    shortestRetention: '300ms',
    owner: (credentials) => `owner:${credentials?.clientId}`,
    ...more,
  });
  await tasks.work({ concurrency, grace: '100ms' });
  const factory: McpServerFactory = () => {
    const mcp = new McpServer({ name: 'grower', version: '1.0.0' });
    tasks.attach(mcp);
    return mcp;
  };
  const auth = tokensOf(new Map(tokens.map((token) => [token, token])));
  const { url, stop } = await serveHttp(tasks, factory, { port, grace: '1s', stopOn: [], auth });
  const open = async (token: string, experimental: object) => {
    const peer = new Peer(url, { capabilities: { elicitation: {}, experimental }, token });
    await peer.open();
    return peer;
  };
  const later = (token: string, extensions: object) =>
    new RawClient(url, { tasks: false, capabilities: { elicitation: {}, extensions }, token });
  const [first = ''] = tokens;
  return {
    tasks,
    url,
    aware: (token = first) => open(token, { 'sep-2268': {} }),
    unaware: (token = first) => open(token, {}),
    later: (token = first) => later(token, { [tasksExtension]: {}, [subtasksExtension]: {} }),
    laterUnaware: (token = first) => later(token, { [tasksExtension]: {} }),
    stop: () => stop(),
  };
}

/** Runs until the end of the test. */
export async function served(options: ServedOptions = {}): Promise<Served> {
  const server = await serving(options);
  onTestFinished(() => server.stop());
  return server;
}

export function grow(peer: Peer, plan: Plan, task: object = {}): Promise<string> {
  return peer.start(plan.tool ?? 'grow', { plan }, task);
}

export function isDone({ status }: { readonly status?: unknown }): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** Looks until it is so; what it looks at moves by itself. */
export async function look(peer: Peer, taskId: string, isIt: (task: Message) => boolean): Promise<Message> {
  for (;;) {
    const { result, error } = await peer.get(taskId);
    if (error) throw new Error(`tasks/get: ${error.message}`);
    if (isIt(result)) return result;
  }
}

/** The ids of its first children, as soon as there are so many. */
export async function children(peer: Peer, taskId: string, count = 1): Promise<string[]> {
  const { childTaskIds } = await look(peer, taskId, (task) => (task.childTaskIds?.length ?? 0) >= count);
  return childTaskIds;
}

/** Every page. */
export async function listed(peer: Peer): Promise<Message[]> {
  const all: Message[] = [];
  for (let cursor: string | undefined; ; ) {
    const { result } = await peer.request('tasks/list', cursor === undefined ? {} : { cursor });
    all.push(...result.tasks);
    if (result.nextCursor === undefined) return all;
    cursor = result.nextCursor;
  }
}
