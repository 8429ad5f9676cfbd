/** Clients whose messages are on record, before a real server or one that says exactly what a test wants. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type ConnectTasksOptions, connectTasks, type TaskClient } from 'holdfast/client';
import { onTestFinished } from 'vitest';
import { type Message, RawServer, type RawServerOptions } from '../receiver/raw-server.ts';
import { discovered } from '../techniques/hostile/server.ts';

export { discovered } from '../techniques/hostile/server.ts';
export type { Message, RawServer };

export interface Sent extends Message {
  readonly headers: Readonly<Record<string, string>>;
}

interface Options extends Partial<ConnectTasksOptions> {
  /** 2026-07-28, if the server has it. */
  readonly isModern?: boolean;
}

const modern = { versionNegotiation: { mode: 'auto' } } as const;

const defaults = { handles: 'memory:', pace: { floorMs: 10, ceilingMs: 5_000, defaultMs: 20 } } as const;

/** Before a real server: every message that leaves the client, with its headers. */
export async function recorded(
  url: string,
  { isModern = false, ...options }: Options = {},
): Promise<{ tasks: TaskClient; sent: Sent[]; of(method: string): Sent[] }> {
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
  const client = new Client({ name: 'client', version: '1' }, isModern ? modern : {});
  const tasks = await connectTasks(client, open, { ...defaults, ...options });
  onTestFinished(() => tasks.close());
  return { tasks, sent, of: (method) => sent.filter((message) => message.method === method) };
}

export type Answers = (request: Message) => object | undefined;

const tasksOf2025 = { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };

/** A tool that may be called as a task. */
export const tool = (taskSupport?: string) => ({
  result: {
    tools: [
      {
        name: 'work',
        inputSchema: { type: 'object' },
        ...(taskSupport !== undefined && { execution: { taskSupport } }),
      },
    ],
  },
});

/** Before a server that answers as it is told, and lists one tool unless it is told otherwise. */
export async function facing(
  answers: Answers,
  { isModern = false, says = {}, ...options }: Options & { says?: RawServerOptions } = {},
): Promise<{ server: RawServer; tasks: TaskClient; of(method: string): Message[] }> {
  const capabilities =
    says.capabilities ??
    (isModern ? { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } } : tasksOf2025);
  const server = new RawServer({ ...says, capabilities });
  server.answer = (request) => {
    if (request.method === 'server/discover')
      return isModern ? { result: discovered(capabilities) } : refusal(-32601, 'Method not found');
    if (request.method === 'subscriptions/listen') return answers(request);
    return answers(request) ?? (request.method === 'tools/list' ? tool('optional') : undefined);
  };
  const client = new Client({ name: 'client', version: '1' }, isModern ? modern : {});
  const tasks = await connectTasks(client, server.open, { ...defaults, ...options });
  onTestFinished(() => tasks.close());
  return { server, tasks, of: (method) => server.heard.filter((message) => message.method === method) };
}

export function refusal(code: number, message: string): { error: object } {
  return { error: { code, message } };
}

export function text(words: string): { content: object[] } {
  return { content: [{ type: 'text', text: words }] };
}

/** Answers by method; what it does not know is not answered. */
export function by(
  methods: Record<string, (params: Message, request: Message) => object | undefined>,
): Answers {
  return (request) => methods[request.method]?.(request.params ?? {}, request);
}

/** A task as every dialect shows it, more or less. */
export function shown(taskId: string, status: string, more: object = {}): Message {
  const at = new Date().toISOString();
  return { taskId, status, createdAt: at, lastUpdatedAt: at, ttl: null, pollInterval: 10, ...more };
}

/** One after the other, and then the last for good. */
export function oneByOne<T>(...items: readonly T[]): () => T {
  let next = 0;
  return () => items[Math.min(next++, items.length - 1)]!;
}
