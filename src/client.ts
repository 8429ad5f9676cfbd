import './check-node.ts';

import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Client, Transport } from '@modelcontextprotocol/client';
import { asQuestion } from './client/asking.ts';
import { type Handles, memoryHandles } from './client/handles.ts';
import { type HttpOptions, httpTransport } from './client/http.ts';
import {
  type Hosted,
  type Hosting,
  TaskClient,
  type ConnectTasksOptions as WithHandles,
} from './client/task-client.ts';
import { createTasks, type TasksOptions } from './engine/tasks.ts';
import { HoldfastError } from './model/errors.ts';
import type { JsonObject } from './model/json.ts';
import { drafts as allDrafts, type Draft } from './protocol/dialects/drafts/flags.ts';
import { answering } from './receiver/hosted.ts';
import { Receiver } from './receiver/receiver.ts';
import { sqliteHandles } from './stores/sqlite/handles.ts';
import { openSqlite } from './stores/sqlite/open.ts';

export type { Answer, AnswerQuestion, Question, QuestionKind } from './client/asking.ts';
export type { TaskHandle } from './client/handle.ts';
export { type HandleRecord, type Handles, memoryHandles } from './client/handles.ts';
export { type HttpOptions, httpTransport, mindfulFetch } from './client/http.ts';
export type { CallEvent, CallOptions, TaskClient } from './client/task-client.ts';
export type { Ending } from './requestor/ending.ts';
export {
  ConnectionLost,
  Detached,
  MalformedAnswer,
  RemoteError,
  RequestTimedOut,
  ServerUnreachable,
  TaskCancelled,
  TaskExpired,
  TaskFailed,
  TaskLost,
} from './requestor/errors.ts';
export type { PaceOptions } from './requestor/pace.ts';
export type { Pursued, TaskUpdate } from './requestor/pursuit.ts';
export type { RemoteStatus, RemoteTask } from './requestor/remote-task.ts';
export { sqliteHandles } from './stores/sqlite/handles.ts';
export type { Encryption } from './stores/sqlite/keys.ts';

export interface ConnectTasksOptions extends Omit<WithHandles, 'handles' | 'hosts'>, HttpOptions {
  /**
   * Makes tasks of what the server asks, where it wants that (2025-11-25): it gets a handle, and may come back for the
   * answer. Where these tasks are kept: `'memory:'`, `'sqlite:PATH'`, or a store.
   */
  readonly hosts?: string | TasksOptions['store'];
  /**
   * Where handles are kept: a registry, `'memory:'`, or `'sqlite:PATH'`. By default a SQLite file in the user's data
   * folder, so that a host that was killed finds its calls again.
   */
  readonly handles?: Handles | string;
}

export class UnknownHandles extends HoldfastError {
  constructor(location: string) {
    super(`"${location}" is no place for handles. Use memory: or sqlite:PATH.`);
  }
}

/**
 * Connects a client of the SDK to a server, at a URL or over transports, and gives what calls its tools. To be called
 * instead of `client.connect`, because what a client can do has to be said when it connects.
 */
export async function connectTasks(
  client: Client,
  where: string | URL | Transport | (() => Transport | Promise<Transport>),
  options: ConnectTasksOptions = {},
): Promise<TaskClient> {
  const {
    handles = `sqlite:${join(dataFolder(), 'handles.db')}`,
    headers,
    largestAnswer,
    hosts,
    ...rest
  } = options;
  const http = { ...(headers && { headers }), ...(largestAnswer !== undefined && { largestAnswer }) };
  const isAddress = typeof where === 'string' || where instanceof URL;
  const transport = isAddress ? () => httpTransport(new URL(where), http) : where;
  const tasks = new TaskClient(client, transport, {
    ...rest,
    ...(hosts !== undefined && { hosts: hosting(hosts, options) }),
    handles: typeof handles === 'string' ? openHandles(handles) : handles,
  });
  await tasks.connect();
  return tasks;
}

/** The engine of a server, in a client: what is asked as a task is answered, whatever happens to this process. */
function hosting(
  store: string | TasksOptions['store'],
  { answer, answers = ['form', 'url'], drafts = [] }: ConnectTasksOptions,
): (about: Hosted) => Hosting {
  const asks = async ({ method, params }: { method: string; params: JsonObject }, signal: AbortSignal) => {
    const question = asQuestion({ key: method, method, params });
    if (!question || !answer) throw new HoldfastError(`Nobody here can answer ${method}.`);
    return answer(question, signal);
  };
  const methods = [
    ...(answers.some((kind) => kind === 'form' || kind === 'url') ? ['elicitation/create'] : []),
    ...(answers.includes('sampling') ? ['sampling/createMessage'] : []),
  ];
  const handlers = new Map(methods.map((method) => [method, answering(method, asks)]));
  return (about) => {
    const tasks = createTasks({
      store: typeof store === 'string' ? () => openSqlite(store.replace(/^sqlite:/, '')) : store,
      tools: [...handlers.values()],
    });
    const working = tasks.work();
    const receiver = new Receiver({
      tasks,
      handlers,
      drafts: new Set<Draft>(drafts === 'all' ? allDrafts : drafts),
      owner: () => about.server(),
      server: () => about.opening(),
      notify: (message) => about.notify(message),
    });
    return {
      capabilities: receiver.capabilities,
      request: (request) =>
        receiver.request(request)?.then(
          (result) => ({ result }),
          (error: unknown) => ({ error: receiver.fault(error) }),
        ),
      heard: (method, params) => receiver.heard(method, params),
      async close() {
        receiver.close();
        await working;
        await tasks.close();
      },
    };
  };
}

export function openHandles(location: string): Handles {
  if (location === 'memory:') return memoryHandles();
  if (location.startsWith('sqlite:') && location.length > 'sqlite:'.length)
    return sqliteHandles(location.slice('sqlite:'.length));
  throw new UnknownHandles(location);
}

/** Where programs of this user keep their data. */
export function dataFolder(): string {
  const { XDG_DATA_HOME, LOCALAPPDATA } = process.env;
  if (process.platform === 'win32' && LOCALAPPDATA) return join(LOCALAPPDATA, 'holdfast');
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'holdfast');
  return join(XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'holdfast');
}
