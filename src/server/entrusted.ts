/**
 * Questions of which a client makes tasks: the server is the requestor then, and pursues them as any caller would. The
 * id of the client's task is in the store before it is relied on, so that another stream or process goes on with it.
 */
import type { Requests } from '../engine/requests.ts';
import type { Caller } from '../hosting/caller.ts';
import type { Entrusted, InputRecord } from '../model/input.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { CollapsedQuestion } from '../protocol/collapse.ts';
import { resultOf } from '../requestor/ending.ts';
import { ConnectionLost, RemoteError } from '../requestor/errors.ts';
import { Pace } from '../requestor/pace.ts';
import { Gone, Pursuit, type RemotePeer } from '../requestor/pursuit.ts';
import { remoteDialect, tasksContinued, tasksOf2025 } from '../requestor/remote-dialect.ts';
import { readTask } from '../requestor/remote-task.ts';
import type { Channel } from './connection.ts';

const pace = new Pace();
/** What ends a question is its task; a client that is away for long is waited for on its next stream. */
const unreachableForMs = 60_000;

type Wire = { readonly method: string; readonly params: JsonObject };

/** Puts a question to a client that may make a task of it, or goes on with the task that it made. */
export async function askThrough(
  channel: Channel,
  wire: Wire,
  { taskId, ownKey, request }: CollapsedQuestion,
  {
    requests,
    listener,
    signal,
  }: { requests: Requests; listener: Pick<Caller, 'dialect' | 'sender'>; signal: AbortSignal },
): Promise<JsonObject> {
  const before = await entrustedBefore(requests, taskId, ownKey);
  const entrust = (entrusted: Entrusted | undefined) => requests.entrust(taskId, ownKey, entrusted);
  if (before) {
    try {
      return await pursue(channel, before, signal);
    } catch (error) {
      // The client lost it: it is asked anew.
      if (!(error instanceof Gone)) throw error;
      await entrust(undefined);
    }
  }
  const isTask = request.asTask === true && (listener.sender.makesTasksOf?.includes(request.kind) ?? false);
  if (!isTask && !listener.sender.takesTasksUnasked) return channel.ask(wire, signal);
  const asked = isTask ? { ...wire, params: { ...wire.params, task: {} } } : wire;
  const reply = await channel.request(asked, signal);
  if (!isJsonObject(reply.task)) return reply;
  const { name } = listener.dialect.methods.includes('tasks/continue') ? tasksContinued : tasksOf2025;
  const entrusted = { taskId: readTask(reply.task).taskId, dialect: name };
  await entrust(entrusted);
  return pursue(channel, entrusted, signal);
}

async function entrustedBefore(
  requests: Requests,
  taskId: string,
  key: string,
): Promise<Entrusted | undefined> {
  const inputs: readonly InputRecord[] = (await requests.task(taskId))?.inputs ?? [];
  const input = inputs.find((one) => one.key === key);
  return input?.state === 'open' ? input.entrusted : undefined;
}

async function pursue(
  channel: Channel,
  { taskId, dialect }: Entrusted,
  signal: AbortSignal,
): Promise<JsonObject> {
  const peer: RemotePeer = {
    request: (message, options) =>
      channel.request(message, options.signal).catch((error: unknown) => {
        throw asRemote(error, options.signal);
      }),
  };
  const nobody = () => Promise.reject(new Error('A server is asked nothing.'));
  const pursuit = new Pursuit(taskId, {
    peer,
    dialect: remoteDialect(dialect) ?? tasksOf2025,
    pace,
    answering: { answer: nobody, recall: () => undefined, remember: () => {}, forget: () => {} },
    onUpdate: () => {},
    signal,
    unreachableForMs,
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
