/** A server with the operator API, and an HTTP client for it. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { createTasks, durableTool, type Tasks, type TasksOptions, TerminalError } from 'holdfast';
import { type ServeHttpOptions, staticTokens } from 'holdfast/server';
import { openSqlite } from 'holdfast/sqlite';
import { expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { ChangeMessage, TaskDetails, TaskPage, TaskSummary } from '../../src/operator/api.ts';
import { serve } from '../kit/serve.ts';
import { until } from '../kit/until.ts';
import { listening } from '../kit/wire.ts';
import { open } from '../stores/kinds.ts';

export const operatorToken = 'operator-0123456789abcdef';
export const adasToken = 'ada-0123456789abcdef-ada';
export const bobsToken = 'bob-0123456789abcdef-bob';
export const ada = 'token:["","","ada"]';
export const bob = 'token:["","","bob"]';

const line = durableTool('line', { inputSchema: z.object({ in: z.string() }) }, async ({ in: file }, task) =>
  task.step('count', () => ({ file })),
);

const approve = durableTool('approve', { description: 'Asks.' }, async (_, task) => {
  const answer = await task.ask('approval', { message: 'Go?', schema: z.object({ go: z.boolean() }) });
  return answer.action === 'accept' && answer.content.go ? 'Went.' : 'Stayed.';
});

/** Starts a subtask that asks the question. */
export const delegate = durableTool('delegate', {}, async (_, task) => (await task.start(approve)).result());

export const tools = [
  durableTool('greet', { inputSchema: z.object({ name: z.string() }) }, async ({ name }, task) => {
    await task.step('think', () => 'Hello');
    task.progress(1, 1, 'Thought');
    return `Hello, ${name}.`;
  }),
  approve,
  durableTool('break', {}, async (_, task) => {
    await task.step('try', () => {
      throw new TerminalError('It broke.\nIn two lines.');
    });
  }),
  durableTool('family', {}, async (_, task) => {
    const both = await Promise.all(['a', 'b'].map((file) => task.start(line, { in: file })));
    for (const one of both) await one.result();
    return 'All of them.';
  }),
  durableTool(
    'pay',
    { secrets: ['card.number', 'pin'], inputSchema: z.object({ card: z.object({ number: z.string() }) }) },
    async ({ card }, task) => {
      const answer = await task.ask('pin', { message: 'PIN?', schema: z.object({ pin: z.string() }) });
      const pin = answer.action === 'accept' ? answer.content.pin : '';
      return task.step('charge', () => ({ card, pin, sum: 3 }));
    },
  ),
  line,
] as const;

interface Sent {
  readonly token?: string | undefined;
  readonly method?: string;
  readonly body?: unknown;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Like `fetch`, but with any host and origin. */
export async function send<T = unknown>(
  url: string,
  { token, method = 'GET', body, text, headers }: Sent = {},
) {
  const sent = text ?? (body === undefined ? undefined : JSON.stringify(body));
  const req = request(url, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(sent !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
  }).end(sent);
  const [res] = (await once(req, 'response')) as [IncomingMessage];
  const answer = await textOf(res);
  const isJson = res.headers['content-type'] === 'application/json' && answer !== '';
  return {
    status: res.statusCode!,
    headers: res.headers,
    text: answer,
    body: (isJson ? JSON.parse(answer) : undefined) as T,
  };
}

/** The subtask of a task, once it waits for an answer. */
export async function askedBelow(tasks: Tasks, id: string): Promise<string> {
  const { store } = await tasks.opened();
  await expect.poll(async () => (await store.childIds(id)).length).toBe(1);
  const [child] = await store.childIds(id);
  await asked(tasks, child!);
  return child!;
}

export async function asked(tasks: Tasks, id: string): Promise<void> {
  await expect.poll(async () => (await tasks.get(id))!.phase).toBe('waiting');
}

export interface StageOptions extends Partial<Omit<TasksOptions, 'store'>> {
  /** By default a database in memory. */
  readonly place?: string;
  readonly works?: boolean;
  readonly http?: Partial<ServeHttpOptions>;
}

export async function stage({ place, works = true, http, ...options }: StageOptions = {}) {
  const store = () => (place === undefined ? openSqlite('memory:') : open(place));
  const tasks = createTasks({ tools, audit: true, ...options, store });
  const server = await serve(tasks, {
    grace: '10s',
    operator: { token: operatorToken },
    auth: staticTokens({ [adasToken]: { clientId: 'ada' }, [bobsToken]: { clientId: 'bob' } }),
    ...http,
  });
  if (works) await tasks.work();
  const { origin } = new URL(server.url);
  const api = `${origin}/operator/api`;
  const ask = <T>(path: string, sent: Sent = {}) => send<T>(api + path, { token: operatorToken, ...sent });
  return {
    tasks,
    origin,
    api,
    ask,
    stop: () => server.stop(),
    list: async (query = '', token = operatorToken) =>
      (await ask<TaskPage>(`/tasks${query}`, { token })).body,
    story: async (id: string, token = operatorToken) =>
      (await ask<TaskDetails>(`/tasks/${id}`, { token })).body,
    act: (id: string, action: string, body: unknown = {}, token = operatorToken) =>
      ask<TaskSummary>(`/tasks/${id}/${action}`, { token, method: 'POST', body }),
  };
}

export type Listener = Awaited<ReturnType<typeof listen>>;

/** Reads a stream of changes until the end of the test. */
export async function listen(api: string, token = operatorToken, lastId?: string) {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(lastId !== undefined && { 'last-event-id': lastId }),
  };
  const stream = await listening((signal) => fetch(`${api}/changes`, { signal, headers }));
  const close = () => stream[Symbol.asyncDispose]();
  onTestFinished(close);
  const messages = stream.heard as ChangeMessage[];
  await until(() => messages.length > 0);
  return {
    messages,
    close,
    get lastId(): string {
      return messages.at(-1)!.id;
    },
    until: (holds: (messages: readonly ChangeMessage[]) => boolean) => until(() => holds(messages)),
    /** The tasks that it was told of, each as it was told of last. */
    get tasks(): Map<string, TaskSummary> {
      const told = messages.flatMap((one) => (one.type === 'changes' ? one.tasks : []));
      return new Map(told.map((task) => [task.id, task]));
    },
  };
}
