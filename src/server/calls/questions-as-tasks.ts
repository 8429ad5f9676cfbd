/**
 * Questions of which a client makes tasks: the server is the requestor then, and pursues them as any caller would. The
 * id of the client's task is in the store before it is relied on, so that another stream or process goes on with it.
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
/** What ends a question is its task; a client that is away for long is waited for on its next stream. */
const reconnectTimeoutMs = 60_000;

/** How often a question is put again because the client lost the task that it made of it. */
const mostLost = 3;

type Wire = { readonly method: string; readonly params: JsonObject };

interface Asking {
  readonly requests: TaskService;
  readonly listener: Pick<Caller, 'dialect' | 'sender'>;
  readonly signal: AbortSignal;
  readonly streams: Streams;
}

/** Puts a question to a client that may make a task of it, or goes on with the task that it made. */
export async function askAsTask(
  channel: Channel,
  wire: Wire,
  { taskId, ownKey, request }: CollapsedQuestion,
  { requests, listener, signal, streams }: Asking,
): Promise<JsonObject> {
  const entrust = (entrusted: AskedAsTask | undefined) => requests.entrust(taskId, ownKey, entrusted);
  const isTask = request.asTask === true && (listener.sender.makesTasksOf?.includes(request.kind) ?? false);
  for (let lost = 0; ; lost++) {
    let held = await entrustedBefore(requests, taskId, ownKey);
    if (!held) {
      if (!isTask && !listener.sender.takesTasksUnasked) return channel.request(wire, signal);
      const asked = isTask ? { ...wire, params: { ...wire.params, task: {} } } : wire;
      const reply = await channel.request(asked, signal);
      if (!isJsonObject(reply.task)) return reply;
      const { name } = listener.dialect.methods.includes('tasks/continue') ? tasksContinued : tasksOf2025;
      held = { taskId: readTask(reply.task).taskId, dialect: name };
      await entrust(held);
    }
    try {
      return await pursue(channel, held, signal);
    } catch (error) {
      const isOpen = (await entrustedBefore(requests, taskId, ownKey)) !== undefined;
      // The task went on without the answer: nobody need think about it any longer. The stream of a result ends with
      // its task, so this goes out on another.
      if (signal.aborted && !isOpen) cancelThere(streams.standalone() ?? channel, held);
      if (!isLost(error) || lost === mostLost) throw error;
      await entrust(undefined);
    }
  }
}

/** The client lost its task, or is one that holds none any more. */
function isLost(error: unknown): boolean {
  return error instanceof Gone || (error instanceof RemoteError && error.rpcCode === methodNotFound);
}

function cancelThere(channel: Channel, { taskId, dialect }: AskedAsTask): void {
  const message = (remoteDialect(dialect) ?? tasksOf2025).cancel?.(taskId);
  if (message) void channel.request(message, channel.closed).catch(() => {});
}

async function entrustedBefore(requests: TaskService, taskId: string, key: string) {
  const inputs: readonly InputRecord[] = (await requests.task(taskId))?.inputs ?? [];
  const input = inputs.find((one) => one.key === key);
  return input?.state === 'open' ? input.entrusted : undefined;
}

async function pursue(channel: Channel, held: AskedAsTask, signal: AbortSignal): Promise<JsonObject> {
  const { taskId, dialect } = held;
  const peer: RemotePeer = {
    request: (message, options) =>
      channel.request(message, options.signal).catch((error: unknown) => {
        throw asRemote(error, options.signal);
      }),
  };
  const nobody = () => Promise.reject(new Error('A server is asked nothing.'));
  const pursuit = new TaskPoller(taskId, {
    peer,
    dialect: remoteDialect(dialect) ?? tasksOf2025,
    pace,
    answering: { answer: nobody, recall: () => undefined, remember: () => {}, forget: () => {} },
    onUpdate: () => {},
    signal,
    reconnectTimeoutMs,
  });
  const { _meta, ...answer } = resultOf(taskId, await pursuit.run());
  return answer;
}

/** The SDK's errors, as a requestor knows them. */
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
