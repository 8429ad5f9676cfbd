/**
 * Questions that a client answers with a task of its own. The server is the caller of that task and polls it like any
 * caller. It stores the task's id before it uses it, so that another stream or process can continue.
 */

import type { CollapsedQuestion } from '../../dialects/collapse.ts';
import { methodNotFound } from '../../dialects/json-rpc.ts';
import type { TaskService } from '../../engine/task-service.ts';
import type { AskedAsTask, InputRecord } from '../../model/input.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { ConnectionLost, RemoteError } from '../../remote-tasks/errors.ts';
import { remoteDialect, tasksContinued, tasksOf2025 } from '../../remote-tasks/remote-dialect.ts';
import { resultOf } from '../../remote-tasks/remote-outcome.ts';
import { readTask } from '../../remote-tasks/remote-task.ts';
import { Pace } from '../../remote-tasks/retry-loop.ts';
import { Gone, type RemotePeer, TaskPoller } from '../../remote-tasks/task-poller.ts';
import type { Caller } from '../../task-methods/caller.ts';
import type { Streams } from '../sdk/streams.ts';
import type { Channel } from '../sessions/session-connection.ts';

const pace = new Pace();
/**
 * How long polling is retried while the client cannot be reached. After that, the question stays open and is asked
 * again on the client's next stream: only the asking task ends a question.
 */
const reconnectTimeoutMs = 60_000;

/** How many times a question is asked again because the client lost its task for it. */
const maxLost = 3;

type Wire = { readonly method: string; readonly params: JsonObject };

interface Asking {
  readonly requests: TaskService;
  /** The client that is asked. */
  readonly listener: Pick<Caller, 'dialect' | 'sender'>;
  readonly signal: AbortSignal;
  readonly streams: Streams;
}

/** Asks a client a question. The client may answer with a task; a task from an earlier attempt is continued. */
export async function askAsTask(
  channel: Channel,
  wire: Wire,
  { taskId, ownKey, request }: CollapsedQuestion,
  { requests, listener, signal, streams }: Asking,
): Promise<JsonObject> {
  // Stores the client's task for the question; undefined removes it.
  const entrust = (entrusted: AskedAsTask | undefined) => requests.entrust(taskId, ownKey, entrusted);
  // True if the client must be requested to create a task. Some clients create tasks without such a request.
  const isTask = request.asTask === true && (listener.sender.makesTasksOf?.includes(request.kind) ?? false);
  for (let lost = 0; ; lost++) {
    let clientTask = await findClientTask(requests, taskId, ownKey);
    if (!clientTask) {
      if (!isTask && !listener.sender.takesTasksUnasked) return channel.request(wire, signal);
      const asked = isTask ? { ...wire, params: { ...wire.params, task: {} } } : wire;
      const reply = await channel.request(asked, signal);
      if (!isJsonObject(reply.task)) return reply;
      const { name } = listener.dialect.methods.includes('tasks/continue') ? tasksContinued : tasksOf2025;
      clientTask = { taskId: readTask(reply.task).taskId, dialect: name };
      await entrust(clientTask);
    }
    try {
      return await poll(channel, clientTask, signal);
    } catch (error) {
      const isOpen = (await findClientTask(requests, taskId, ownKey)) !== undefined;
      // The asking task no longer needs the answer. Prefer the standalone stream: a `tasks/result` stream ends with its
      // task.
      if (signal.aborted && !isOpen) cancelClientTask(streams.standalone() ?? channel, clientTask);
      if (!isLost(error) || lost === maxLost) throw error;
      await entrust(undefined);
    }
  }
}

/** True if the client lost its task, or no longer supports tasks. */
function isLost(error: unknown): boolean {
  return error instanceof Gone || (error instanceof RemoteError && error.rpcCode === methodNotFound);
}

function cancelClientTask(channel: Channel, { taskId, dialect }: AskedAsTask): void {
  const message = (remoteDialect(dialect) ?? tasksOf2025).cancel?.(taskId);
  if (message) void channel.request(message, channel.closed).catch(() => {});
}

/** The client's task for an open question; undefined if there is none, or the question is no longer open. */
async function findClientTask(requests: TaskService, taskId: string, key: string) {
  const inputs: readonly InputRecord[] = (await requests.task(taskId))?.inputs ?? [];
  const input = inputs.find((one) => one.key === key);
  return input?.state === 'open' ? input.entrusted : undefined;
}

async function poll(channel: Channel, clientTask: AskedAsTask, signal: AbortSignal): Promise<JsonObject> {
  const { taskId, dialect } = clientTask;
  const peer: RemotePeer = {
    request: (message, options) =>
      channel.request(message, options.signal).catch((error: unknown) => {
        throw asRemote(error, options.signal);
      }),
  };
  const refuse = () => Promise.reject(new Error('A server answers no questions.'));
  const poller = new TaskPoller(taskId, {
    peer,
    dialect: remoteDialect(dialect) ?? tasksOf2025,
    pace,
    answering: { answer: refuse, recall: () => undefined, remember: () => {}, forget: () => {} },
    onUpdate: () => {},
    signal,
    reconnectTimeoutMs,
  });
  const { _meta, ...answer } = resultOf(taskId, await poller.run());
  return answer;
}

/** Converts errors of the SDK into those of remote tasks. */
function asRemote(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted || !(error instanceof Error)) return error;
  const { code, data } = error as { code?: unknown; data?: unknown };
  if (typeof code === 'number')
    return new RemoteError({
      code,
      message: error.message,
      ...(data !== undefined && { data: data as never }),
    });
  return new ConnectionLost(error.message);
}
