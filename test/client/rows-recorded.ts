/** Clients whose messages are recorded, with a real or a scripted server. */
import { StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { type ConnectTasksOptions, connectTasks, type TaskClient } from 'holdfast/client';
import { onTestFinished } from 'vitest';
import { sdkClient } from '../kit/sdk.ts';
import { extension } from '../kit/wire.ts';
import { type Message, RawServer, type RawServerOptions } from '../receiver/raw-server.ts';
import { discovered, tasksOf2025 } from '../techniques/hostile/server.ts';

export { discovered } from '../techniques/hostile/server.ts';
export type { Message, RawServer };

export interface Sent extends Message {
  readonly headers: Readonly<Record<string, string>>;
}

interface Options extends Partial<ConnectTasksOptions> {
  /** Use 2026-07-28 if the server supports it. */
  readonly isModern?: boolean;
}

const defaults = { registry: 'memory:', pace: { floorMs: 10, ceilingMs: 5_000, defaultMs: 20 } } as const;

async function connected(to: () => Transport, { isModern, ...options }: Options): Promise<TaskClient> {
  const client = sdkClient(isModern ? 'auto' : 'legacy');
  const tasks = await connectTasks(client, to, { ...defaults, ...options });
  onTestFinished(() => tasks.close());
  return tasks;
}

/** With a real server: records every message of the client, with its headers. */
export async function recorded(url: string, options: Options = {}) {
  const sent: Sent[] = [];
  const open = () =>
    new StreamableHTTPClientTransport(new URL(url), {
      ...(options.headers && { requestInit: { headers: options.headers } }),
      fetch: (to, init) => {
        const headers = Object.fromEntries(new Headers(init?.headers).entries());
        if (init?.method === 'POST') sent.push({ ...JSON.parse(String(init.body)), headers });
        return fetch(to, init);
      },
    });
  const of = (method: string) => sent.filter((message) => message.method === method);
  return { tasks: await connected(open, options), sent, of };
}

export type Answers = (request: Message) => object | undefined;

export const tool = (taskSupport?: string) => {
  const execution = taskSupport === undefined ? {} : { execution: { taskSupport } };
  return { result: { tools: [{ name: 'work', inputSchema: { type: 'object' }, ...execution }] } };
};

/** With a scripted server, which lists one tool by default. */
export async function facing(
  answers: Answers,
  { says = {}, ...options }: Options & { says?: RawServerOptions } = {},
) {
  const { isModern = false } = options;
  const capabilities =
    says.capabilities ?? (isModern ? { tools: {}, extensions: { [extension]: {} } } : tasksOf2025);
  const server = new RawServer({ ...says, capabilities });
  server.answer = (request) => {
    const { method } = request;
    if (method === 'server/discover')
      return isModern ? { result: discovered(capabilities) } : refusal(-32601, 'Method not found');
    return answers(request) ?? (method === 'tools/list' ? tool('optional') : undefined);
  };
  const of = (method: string) => server.heard.filter((message) => message.method === method);
  return { server, tasks: await connected(server.open, options), of };
}

export function refusal(code: number, message: string): { error: object } {
  return { error: { code, message } };
}

export function text(words: string): { content: object[] } {
  return { content: [{ type: 'text', text: words }] };
}

/** Answers by method. Unknown methods get no answer. */
export function by(
  methods: Record<string, (params: Message, request: Message) => object | undefined>,
): Answers {
  return (request) => methods[request.method]?.(request.params ?? {}, request);
}

/** A task in a format that every dialect accepts. */
export function shown(taskId: string, status: string, more: object = {}): Message {
  const at = new Date().toISOString();
  return { taskId, status, createdAt: at, lastUpdatedAt: at, ttl: null, pollInterval: 10, ...more };
}

/** Returns one after the other, and then the last one repeatedly. */
export function oneByOne<T>(...items: readonly T[]): () => T {
  let next = 0;
  return () => items[Math.min(next++, items.length - 1)]!;
}
