import './check-node.ts';

import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Client, Transport } from '@modelcontextprotocol/client';
import { type AnswerQuestion, asQuestion, keyOf, type QuestionKind } from './client/asking.ts';
import { type Handles, memoryHandles } from './client/handles.ts';
import { type HttpOptions, httpTransport } from './client/http.ts';
import {
  type Hosted,
  type Hosting,
  TaskClient,
  type ConnectTasksOptions as WithHandles,
} from './client/task-client.ts';
import { ProtocolError } from './engine/recorded-error.ts';
import { createTasks, type Tasks } from './engine/tasks.ts';
import type { TasksOptions } from './engine/tasks-options.ts';
import { HoldfastError } from './model/errors.ts';
import { digestOf } from './model/id.ts';
import type { JsonObject } from './model/json.ts';
import type { WireFault } from './protocol/dialect.ts';
import { drafts as allDrafts, type Draft } from './protocol/dialects/drafts/flags.ts';
import { invalidParams } from './protocol/json-rpc.ts';
import { answering, type Engine, Receiver, RequestCancelled } from './receiver/receiver.ts';
import { sqliteHandles } from './stores/sqlite/handles.ts';
import { openSqlite } from './stores/sqlite/open.ts';

export type { Answer, AnswerQuestion, Question, QuestionKind } from './client/asking.ts';
export type { TaskHandle } from './client/handle.ts';
export { type HandleRecord, type Handles, memoryHandles } from './client/handles.ts';
export { type HttpOptions, httpTransport, mindfulFetch } from './client/http.ts';
export type { CallEvent, CallOptions } from './client/options.ts';
export type { TaskClient } from './client/task-client.ts';
export type { FormAnswer, RootsAnswer, UrlAnswer } from './model/input.ts';
export type {
  SamplingAnswer,
  SamplingContent,
  SamplingMessage,
  SamplingRequest,
} from './model/sampling.ts';
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
  TaskOverdue,
  UnknownQuestion,
} from './requestor/errors.ts';
export type { Pursued, TaskUpdate } from './requestor/pursuit.ts';
export type { RemoteStatus, RemoteTask } from './requestor/remote-task.ts';
export type { PaceOptions } from './requestor/waiting.ts';
export { sqliteHandles } from './stores/sqlite/handles.ts';
export type { Encryption } from './stores/values/keys.ts';

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
  constructor(location: string, what = 'handles') {
    super(`"${location}" is no place for ${what}. Use memory: or sqlite:PATH.`);
  }
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
    handles = `sqlite:${join(dataFolder(), 'handles.db')}`,
    headers,
    largestAnswer,
    hosts,
    ...others
  } = options;
  const rest = { ...others, ...(others.answer && { answer: asDeclared(others.answer, others.answers) }) };
  const http = { ...(headers && { headers }), ...(largestAnswer !== undefined && { largestAnswer }) };
  const isAddress = typeof where === 'string' || where instanceof URL;
  const transport = isAddress ? () => httpTransport(new URL(where), http) : where;
  const host =
    hosts === undefined ? undefined : new Host(client, isAddress ? new URL(where) : undefined, hosts, rest);
  const tasks = new TaskClient<Tools>(client, transport, {
    ...rest,
    ...(host && { hosts: (about) => host.meet(about) }),
    handles: typeof handles === 'string' ? openHandles(handles) : handles,
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
class Host {
  readonly #client: Client;
  readonly #url: URL | undefined;
  readonly #store: TasksOptions['store'];
  readonly #options: ConnectTasksOptions;
  readonly #methods: readonly string[];
  readonly #engine = Promise.withResolvers<Engine>();
  #tasks: Tasks | undefined;

  constructor(
    client: Client,
    url: URL | undefined,
    store: string | TasksOptions['store'],
    options: ConnectTasksOptions,
  ) {
    this.#client = client;
    this.#url = url;
    this.#store = typeof store === 'string' ? storeAt(store) : store;
    this.#options = options;
    const { answer, answers = answer ? ['form', 'url'] : [] } = options;
    this.#methods = [
      ...(answers.some((kind) => kind === 'form' || kind === 'url') ? ['elicitation/create'] : []),
      ...(answers.includes('sampling') ? ['sampling/createMessage'] : []),
    ];
  }

  meet(about: Hosted): Hosting {
    const { drafts = [] } = this.#options;
    const receiver = new Receiver({
      methods: this.#methods,
      engine: this.#engine.promise,
      drafts: new Set<Draft>(drafts === 'all' ? allDrafts : drafts),
      owner: () => this.#server(),
      server: () => about.opening(),
      notify: (message) => about.notify(message),
    });
    return {
      capabilities: receiver.capabilities,
      request: (request) =>
        receiver.request(request)?.then(
          (result) => ({ result }),
          (error: unknown) => settled(error, receiver.fault(error)),
        ),
      heard: (method, params) => receiver.heard(method, params),
      close: async () => {
        receiver.close();
        await this.#tasks?.close();
      },
    };
  }

  /** Once the server is known: what it asked of an earlier process is asked again. */
  async begin(): Promise<void> {
    const version = (await digestOf(this.#server())).slice(0, 16);
    const handlers = new Map(
      this.#methods.map((method) => [method, answering(method, version, (...asked) => this.#ask(...asked))]),
    );
    const tasks = createTasks({ store: this.#store, tools: [...handlers.values()] });
    this.#tasks = tasks;
    await tasks.work({ concurrency: questionsAtOnce, grace: '100ms' });
    this.#engine.resolve({ tasks, handlers });
  }

  /**
   * Whose tasks are whose. Anybody can give a server any name, so the address counts too, where there is one; a host
   * that knows its servers by names of its own says so.
   */
  #server(): string {
    if (this.#options.server !== undefined) return `host's ${this.#options.server}`;
    const name = this.#client.getServerVersion()?.name ?? 'unknown';
    return this.#url ? `server ${name} at ${this.#url.origin}${this.#url.pathname}` : `server ${name}`;
  }

  async #ask({ method, params }: { method: string; params: JsonObject }, signal: AbortSignal) {
    const { answer } = this.#options;
    const question = asQuestion({ key: await keyOf(method, params), method, params });
    if (!question || !answer) throw new ProtocolError(invalidParams, `Nobody here can answer ${method}.`);
    return answer(question, signal);
  }
}

/** A request that the server cancelled is answered by nobody. */
function settled(error: unknown, fault: WireFault): Promise<{ error: WireFault }> | { error: WireFault } {
  return error instanceof RequestCancelled ? new Promise(() => {}) : { error: fault };
}

function storeAt(location: string): TasksOptions['store'] {
  if (location === 'memory:') return () => openSqlite(location);
  if (location.startsWith('sqlite:') && location.length > 'sqlite:'.length)
    return () => openSqlite(location.slice('sqlite:'.length));
  throw new UnknownHandles(location, 'tasks');
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
