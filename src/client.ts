import { InvalidOptions } from './model/errors.ts';
import './check-node.ts';

import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Client, Transport } from '@modelcontextprotocol/client';
import { type CallRegistry, memoryCallRegistry } from './client/call-registry.ts';
import {
  type AnswerQuestion,
  asQuestion,
  keyOf,
  type QuestionKind,
} from './client/questions/question-callback.ts';
import {
  TaskClient,
  type TaskHost,
  type TaskHostContext,
  type ConnectTasksOptions as WithHandles,
} from './client/task-client.ts';
import { type HttpOptions, httpTransport } from './client/transports/http.ts';
import { answering, ClientHostedTasks, type Engine } from './client-hosted-tasks/client-hosted-tasks.ts';
import { drafts as allDrafts, type Draft } from './dialects/drafts/flags.ts';
import { invalidParams } from './dialects/json-rpc.ts';
import { ProtocolError } from './engine/replay/recorded-error.ts';
import { createTasks, type Tasks } from './engine/tasks.ts';
import type { TasksOptions } from './engine/tasks-options.ts';
import { digestOf } from './model/id.ts';
import type { JsonObject } from './model/json.ts';
import { sqliteCallRegistry } from './stores/sqlite/call-registry.ts';
import { openSqlite } from './stores/sqlite/open.ts';

export type { TaskHandle } from './client/call-handle.ts';
export { type CallRecord, type CallRegistry, memoryCallRegistry } from './client/call-registry.ts';
export type { CallEvent, CallOptions } from './client/options.ts';
export type { Answer, AnswerQuestion, Question, QuestionKind } from './client/questions/question-callback.ts';
export type { TaskClient } from './client/task-client.ts';
export { boundedFetch, type HttpOptions, httpTransport } from './client/transports/http.ts';
export type { FormAnswer, RootsAnswer, UrlAnswer } from './model/input.ts';
export type {
  SamplingAnswer,
  SamplingContent,
  SamplingMessage,
  SamplingRequest,
} from './model/sampling.ts';
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
  TaskOverdue,
  UnknownQuestion,
} from './remote-tasks/errors.ts';
export type { RemoteOutcome } from './remote-tasks/remote-outcome.ts';
export type { RemoteStatus, RemoteTask } from './remote-tasks/remote-task.ts';
export type { PaceOptions } from './remote-tasks/retry-loop.ts';
export type { PolledTask, TaskUpdate } from './remote-tasks/task-poller.ts';
export type { Encryption } from './stores/shared/encryption/keys.ts';
export { sqliteCallRegistry } from './stores/sqlite/call-registry.ts';

export interface ConnectTasksOptions extends Omit<WithHandles, 'registry' | 'hosts'>, HttpOptions {
  /**
   * Makes tasks of what the server asks, where it wants that (2025-11-25): it gets a handle, and may come back for the
   * answer. Where these tasks are kept: `'memory:'`, `'sqlite:PATH'`, or a store.
   */
  readonly hostedTasks?: string | TasksOptions['store'];
  /**
   * Where handles are kept: a registry, `'memory:'`, or `'sqlite:PATH'`. By default a SQLite file in the user's data
   * folder, so that a host that was killed finds its calls again.
   */
  readonly registry?: CallRegistry | string;
}

function unknownLocation(location: string, what: string): InvalidOptions {
  return new InvalidOptions(
    'UNKNOWN_LOCATION',
    `"${location}" is not a location for ${what}. Use memory: or sqlite:PATH.`,
  );
}

/**
 * Connects a client of the SDK to a server, at a URL or over transports, and gives what calls its tools. To be called
 * instead of `client.connect`, because what a client can do has to be said when it connects. With the type of the server's
 * tools, calls are typed: `connectTasks<typeof tools>(…)`.
 */
export async function connectTasks<Tools = unknown>(
  client: Client,
  where: string | URL | Transport | (() => Transport | Promise<Transport>),
  options: ConnectTasksOptions = {},
): Promise<TaskClient<Tools>> {
  const {
    registry: handles = `sqlite:${join(dataFolder(), 'handles.db')}`,
    hostedTasks: hosts,
    ...others
  } = options;
  const rest = { ...others, ...(others.answer && { answer: asDeclared(others.answer, others.answers) }) };
  const isAddress = typeof where === 'string' || where instanceof URL;
  const url = isAddress ? new URL(where) : undefined;
  const transport = isAddress ? () => httpTransport(new URL(where), options) : where;
  const host = hosts === undefined ? undefined : hostOf(client, url, hosts, rest);
  const tasks = new TaskClient<Tools>(client, transport, {
    ...rest,
    ...(host && { createTaskHost: host.meet }),
    registry: typeof handles === 'string' ? openCallRegistry(handles) : handles,
  });
  await tasks.connect();
  try {
    await host?.begin();
  } catch (error) {
    await tasks.close();
    throw error;
  }
  return tasks;
}

/** A host is only asked what it said it can answer, whatever way a question comes. */
function asDeclared(
  answer: AnswerQuestion,
  kinds: readonly QuestionKind[] = ['form', 'url'],
): AnswerQuestion {
  return async (question, signal) => {
    if (kinds.includes(question.kind)) return answer(question, signal);
    throw new ProtocolError(invalidParams, `Nobody here can answer such a question (${question.kind}).`);
  };
}

/** People take their time, and none has to wait until another has answered. */
const questionsAtOnce = 1_000;

/** The engine of a server, in a client: what is asked as a task is answered, whatever happens to this process. */
function hostOf(
  client: Client,
  url: URL | undefined,
  where: string | TasksOptions['store'],
  { server: named, answer, answers = answer ? ['form', 'url'] : [], drafts = [] }: ConnectTasksOptions,
) {
  const store = typeof where === 'string' ? storeAt(where) : where;
  const methods = [
    ...(answers.some((kind) => kind === 'form' || kind === 'url') ? ['elicitation/create'] : []),
    ...(answers.includes('sampling') ? ['sampling/createMessage'] : []),
  ];
  const engine = Promise.withResolvers<Engine>();
  let tasks: Tasks | undefined;

  /**
   * Whose tasks are whose. Anybody can give a server any name, so the address counts too, where there is one; a host
   * that knows its servers by names of its own says so.
   */
  const server = () => {
    if (named !== undefined) return `host's ${named}`;
    const name = client.getServerVersion()?.name ?? 'unknown';
    return url ? `server ${name} at ${url.origin}${url.pathname}` : `server ${name}`;
  };

  const ask = async ({ method, params }: { method: string; params: JsonObject }, signal: AbortSignal) => {
    const question = asQuestion({ key: await keyOf(method, params), method, params });
    if (!question || !answer) throw new ProtocolError(invalidParams, `Nobody here can answer ${method}.`);
    return answer(question, signal);
  };

  return {
    meet(about: TaskHostContext): TaskHost {
      const receiver = new ClientHostedTasks({
        methods,
        engine: engine.promise,
        drafts: new Set<Draft>(drafts === 'all' ? allDrafts : drafts),
        owner: server,
        server: () => about.opening(),
        notify: (message) => about.notify(message),
      });
      return {
        capabilities: receiver.capabilities,
        request: (request) => receiver.request(request),
        onNotification: (method, params) => receiver.onNotification(method, params),
        close: async () => {
          receiver.close();
          await tasks?.close();
        },
      };
    },

    /** Once the server is known: what it asked of an earlier process is asked again. */
    async begin(): Promise<void> {
      const version = (await digestOf(server())).slice(0, 16);
      const handlers = new Map(methods.map((method) => [method, answering(method, version, ask)]));
      tasks = createTasks({ store, tools: [...handlers.values()] });
      await tasks.work({ concurrency: questionsAtOnce, grace: '100ms' });
      engine.resolve({ tasks, handlers });
    },
  };
}

function storeAt(location: string): TasksOptions['store'] {
  const path = pathIn(location, 'tasks');
  return () => openSqlite(path);
}

export function openCallRegistry(location: string): CallRegistry {
  return location === 'memory:' ? memoryCallRegistry() : sqliteCallRegistry(pathIn(location, 'handles'));
}

/** The path in `sqlite:PATH`. Stores in memory have `memory:` as theirs. */
function pathIn(location: string, what: string): string {
  if (location === 'memory:') return location;
  const path = location.startsWith('sqlite:') ? location.slice('sqlite:'.length) : '';
  if (path === '') throw unknownLocation(location, what);
  return path;
}

/** Where programs of this user keep their data. */
export function dataFolder(): string {
  const { XDG_DATA_HOME, LOCALAPPDATA } = process.env;
  if (process.platform === 'win32' && LOCALAPPDATA) return join(LOCALAPPDATA, 'holdfast');
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'holdfast');
  return join(XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'holdfast');
}
