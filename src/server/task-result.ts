/** `tasks/result` of 2025-11-25, which waits. */
import type { Requests, TaskTree } from '../engine/requests.ts';
import type { Caller } from '../hosting/caller.ts';
import { noteRead } from '../hosting/recording.ts';
import { known, type TaskParams, topOf } from '../hosting/task-methods.ts';
import { untilDone } from '../hosting/waiting.ts';
import type { JsonObject } from '../model/json.ts';
import { payloadOf } from '../protocol/dialects/2025-11-25/dialect.ts';
import type { Channel, Connection } from './connection.ts';
import { RequestAborted } from './tool-call.ts';

/** Waits for the outcome of a task; meanwhile questions of its tree may be put on the stream of this request. */
export async function taskResult(
  requests: Requests,
  caller: Caller,
  params: TaskParams,
  { connection, channel, signal }: { connection: Connection; channel: Channel; signal: AbortSignal },
): Promise<JsonObject> {
  const { related } = caller.dialect;
  const tree = await known(requests, caller, params, 'tasks/result');
  const given = (done: TaskTree) => {
    noteRead(requests, done.root, caller);
    return payloadOf(done, related);
  };
  const already = given(tree);
  if (already) return already;
  const withdraw = connection.follow(topOf(tree).id, caller).offer(channel);
  try {
    await untilDone(requests, tree.root, { signal: AbortSignal.any([signal, channel.closed]) });
  } finally {
    withdraw();
  }
  const payload = given(await known(requests, caller, params, 'tasks/result'));
  if (!payload) throw new RequestAborted();
  return payload;
}
