/** The methods that only 2025-11-25 has: `tasks/result`, which waits, and `tasks/list`. */
import { Sealer } from '../access/seal.ts';
import type { Requests } from '../engine/requests.ts';
import type { JsonObject } from '../model/json.ts';
import { NotOffered, payloadOf } from '../protocol/dialects/2025-11-25/dialect.ts';
import { InvalidParams } from '../protocol/errors.ts';
import { anonymous, type Caller } from './caller.ts';
import type { Channel, Connection } from './connection.ts';
import { known, type TaskParams } from './task-methods.ts';
import { RequestAborted } from './tool-calls.ts';
import { untilDone } from './waiting.ts';

const pageSize = 50;
const cursorLifeMs = 24 * 3_600_000;

/** Waits for the outcome of a task; meanwhile its questions may be put on the stream of this request. */
export async function taskResult(
  requests: Requests,
  caller: Caller,
  params: TaskParams,
  { connection, channel, signal }: { connection: Connection; channel: Channel; signal: AbortSignal },
): Promise<JsonObject> {
  const { root } = await known(requests, caller, params, 'tasks/result');
  if (root.phase === 'done') return payloadOf(root);
  const withdraw = connection.follow(root.id).offer(channel);
  try {
    await untilDone(requests, root.id, AbortSignal.any([signal, channel.closed]));
  } finally {
    withdraw();
  }
  const { root: done } = await known(requests, caller, params, 'tasks/result');
  if (done.phase !== 'done') throw new RequestAborted();
  return payloadOf(done);
}

export async function taskList(
  requests: Requests,
  caller: Caller,
  { cursor }: TaskParams,
): Promise<JsonObject> {
  if (caller.owner === anonymous)
    throw new NotOffered('tasks/list is not offered to callers that cannot be told apart: show a token.');
  const cursors = new Sealer(await requests.secret('cursors'), `cursors of ${caller.owner}`);
  const page = await requests.list(caller.owner, pageSize, opened(cursors, cursor, requests.now));
  const { now } = requests;
  // A task in a list is shown as tasks/get would show it, subtasks' questions included.
  const trees = await Promise.all(
    page.tasks.map(async (root) => (await requests.tree(root.id)) ?? leaf(root)),
  );
  return {
    tasks: trees.map((tree) => caller.dialect.shown(tree, now)),
    ...(page.nextCursor !== undefined && { nextCursor: cursors.seal(page.nextCursor, now + cursorLifeMs) }),
  };
}

function leaf<T>(root: T): { readonly root: T; readonly descendants: readonly [] } {
  return { root, descendants: [] };
}

function opened(cursors: Sealer, cursor: unknown, now: number): string | undefined {
  if (cursor === undefined) return undefined;
  const sealed = typeof cursor === 'string' ? cursors.open(cursor, now) : { problem: 'forged' as const };
  if ('value' in sealed) return sealed.value as string;
  throw new InvalidParams(
    sealed.problem === 'expired'
      ? 'This cursor has expired. Start again without one.'
      : 'This cursor was not made by this server for this caller. Start again without one.',
  );
}
