import './check-node.ts';

import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Client, Transport } from '@modelcontextprotocol/client';
import { type Handles, memoryHandles } from './client/handles.ts';
import { type HttpOptions, httpTransport } from './client/http.ts';
import { TaskClient, type ConnectTasksOptions as WithHandles } from './client/task-client.ts';
import { HoldfastError } from './model/errors.ts';
import { sqliteHandles } from './stores/sqlite/handles.ts';

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

export interface ConnectTasksOptions extends Omit<WithHandles, 'handles'>, HttpOptions {
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
  const { handles = `sqlite:${join(dataFolder(), 'handles.db')}`, headers, largestAnswer, ...rest } = options;
  const http = { ...(headers && { headers }), ...(largestAnswer !== undefined && { largestAnswer }) };
  const isAddress = typeof where === 'string' || where instanceof URL;
  const transport = isAddress ? () => httpTransport(new URL(where), http) : where;
  const tasks = new TaskClient(client, transport, {
    ...rest,
    handles: typeof handles === 'string' ? openHandles(handles) : handles,
  });
  await tasks.connect();
  return tasks;
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
