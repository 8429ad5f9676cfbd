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
  type ConnectTasksOptions as TaskClientOptions,
  type TaskHost,
  type TaskHostContext,
} from './client/task-client.ts';
import { type HttpOptions, httpTransport } from './client/transports/http.ts';
import {
  ClientHostedTasks,
  type Engine,
  questionHandler,
} from './client-hosted-tasks/client-hosted-tasks.ts';
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

export interface ConnectTasksOptions
  extends Omit<TaskClientOptions, 'registry' | 'createTaskHost'>,
    HttpOptions {
  /**
   * Runs questions of the server as tasks if the server requests that (2025-11-25), and keeps these tasks here:
   * `'memory:'`, `'sqlite:PATH'`, or a store.
   */
  readonly hostedTasks?: string | TasksOptions['store'];
  /**
   * The call registry: an object, `'memory:'`, or `'sqlite:PATH'`. By default a SQLite file in the user's data folder,
   * so that a host can resume its calls after a crash.
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
 * Connects an SDK client to a server, at a URL or over a transport, and returns a `TaskClient` to call its tools. Call
 * it instead of `client.connect`, because it must declare capabilities before the connection opens. With the type of
 * the server's tools, calls are typed: `connectTasks<typeof tools>(…)`.
 */
export async function connectTasks<Tools = unknown>(
  client: Client,
  where: string | URL | Transport | (() => Transport | Promise<Transport>),
  options: ConnectTasksOptions = {},
): Promise<TaskClient<Tools>> {
  const { registry = `sqlite:${join(dataFolder(), 'handles.db')}`, hostedTasks, ...others } = options;
  const rest = { ...others, ...(others.answer && { answer: asDeclared(others.answer, others.answers) }) };
  const isAddress = typeof where === 'string' || where instanceof URL;
  const url = isAddress ? new URL(where) : undefined;
  const transport = isAddress ? () => httpTransport(new URL(where), options) : where;
  const host = hostedTasks === undefined ? undefined : taskHostFor(client, url, hostedTasks, rest);
  const tasks = new TaskClient<Tools>(client, transport, {
    ...rest,
    ...(host && { createTaskHost: host.create }),
    registry: typeof registry === 'string' ? openCallRegistry(registry) : registry,
  });
  await tasks.connect();
  try {
    await host?.start();
  } catch (error) {
    await tasks.close();
    throw error;
  }
  return tasks;
}

/** A callback that refuses questions of other kinds than the declared ones, however they arrive. */
function asDeclared(
  answer: AnswerQuestion,
  kinds: readonly QuestionKind[] = ['form', 'url'],
): AnswerQuestion {
  return async (question, signal) => {
    if (kinds.includes(question.kind)) return answer(question, signal);
    throw new ProtocolError(invalidParams, `This client cannot answer such a question (${question.kind}).`);
  };
}

/** High, because a question may wait for its answer for a long time, and must not block others. */
const maxConcurrentQuestions = 1_000;

/**
 * The task host of a client. It runs the same engine as a server, so that questions survive a crash of this process.
 */
function taskHostFor(
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
   * The owner of the tasks. Servers choose their own names, so the address is part of it, if there is one. A name that
   * the host has set is used alone.
   */
  const server = () => {
    if (named !== undefined) return `host's ${named}`;
    const name = client.getServerVersion()?.name ?? 'unknown';
    return url ? `server ${name} at ${url.origin}${url.pathname}` : `server ${name}`;
  };

  const ask = async ({ method, params }: { method: string; params: JsonObject }, signal: AbortSignal) => {
    const question = asQuestion({ key: await keyOf(method, params), method, params });
    if (!question || !answer) throw new ProtocolError(invalidParams, `This client cannot answer ${method}.`);
    return answer(question, signal);
  };

  return {
    create(context: TaskHostContext): TaskHost {
      const hostedTasks = new ClientHostedTasks({
        methods,
        engine: engine.promise,
        drafts: new Set<Draft>(drafts === 'all' ? allDrafts : drafts),
        owner: server,
        server: () => context.opening(),
        notify: (message) => context.notify(message),
      });
      return {
        capabilities: hostedTasks.capabilities,
        request: (request) => hostedTasks.request(request),
        onNotification: (method, params) => hostedTasks.onNotification(method, params),
        close: async () => {
          hostedTasks.close();
          await tasks?.close();
        },
      };
    },

    /** To be called once the server is known. Open questions of earlier processes are asked again. */
    async start(): Promise<void> {
      const version = (await digestOf(server())).slice(0, 16);
      const handlers = new Map(methods.map((method) => [method, questionHandler(method, version, ask)]));
      tasks = createTasks({ store, tools: [...handlers.values()] });
      // A short grace, so that closing does not wait for open questions: the next process asks them again.
      await tasks.work({ concurrency: maxConcurrentQuestions, grace: '100ms' });
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

/** The path in `sqlite:PATH`, or `memory:`. */
function pathIn(location: string, what: string): string {
  if (location === 'memory:') return location;
  const path = location.startsWith('sqlite:') ? location.slice('sqlite:'.length) : '';
  if (path === '') throw unknownLocation(location, what);
  return path;
}

/** The folder for Holdfast's data of this user. */
export function dataFolder(): string {
  const { XDG_DATA_HOME, LOCALAPPDATA } = process.env;
  if (process.platform === 'win32' && LOCALAPPDATA) return join(LOCALAPPDATA, 'holdfast');
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'holdfast');
  return join(XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'holdfast');
}
