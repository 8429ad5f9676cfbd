/** One task from its request to its removal, message by message, as the proposal tells it; then what can go wrong. */
import { expect, test } from 'vitest';
import { Exchange, type Message, related, serving, taskKey, tokens } from './requestor.ts';

const taskId = 'b7d1c1b0-tide-table';

/** A requestor whose requests are numbered from one, and which keeps every message of both sides. */
async function talking() {
  const { peer, tasks } = await serving({ tokens, works: false });
  let id = 0;
  const ask = (method: string, params: object) => new Exchange(peer, { id: ++id, method, params });
  const about = (method: string, name = taskId): Promise<Message> =>
    ask(method, { taskId: name, _meta: related(name) }).reply;
  return { tasks, ask, about };
}

test('S1686-13 S1686-25 S1686-42 S1686-61: a task is asked for, announced, looked at, fetched, listed and deleted', async () => {
  const { tasks, ask, about } = await talking();
  const list = { _meta: related(taskId) };
  const call = { name: 'slow_compute', arguments: { seconds: 0.1, label: 'tides' } };

  // 3.1 Creating: the request carries the name, and how long its result is to be kept.
  const request = ask('tools/call', { ...call, _meta: { [taskKey]: { taskId, keepAlive: 60_000 } } });

  // 3.4 … and the requestor hears that the task is there.
  expect(await request.next('notifications/tasks/created')).toEqual({
    jsonrpc: '2.0',
    method: 'notifications/tasks/created',
    params: { _meta: { 'modelcontextprotocol.io/related-task': { taskId } } },
  });

  // 3.2 Getting: nobody has begun it yet.
  expect(await about('tasks/get')).toEqual({
    jsonrpc: '2.0',
    id: 2,
    result: {
      taskId,
      keepAlive: 60_000,
      pollFrequency: 1_000,
      status: 'submitted',
      _meta: { 'modelcontextprotocol.io/related-task': { taskId } },
    },
  });

  // The request is answered when the work is done.
  await tasks.work({ grace: '100ms' });
  const result = {
    content: [{ type: 'text', text: 'done tides' }],
    _meta: { 'modelcontextprotocol.io/related-task': { taskId } },
  };
  expect(await request.reply).toEqual({ jsonrpc: '2.0', id: 1, result });

  // 3.3 Retrieving the result: the same once more.
  expect(await about('tasks/result')).toEqual({ jsonrpc: '2.0', id: 3, result });

  // 3.5 Listing.
  expect(await ask('tasks/list', list).reply).toEqual({
    jsonrpc: '2.0',
    id: 4,
    result: { tasks: [{ taskId, status: 'completed', keepAlive: 60_000, pollFrequency: 1_000 }] },
  });

  // 3.6 Deleting.
  expect(await about('tasks/delete')).toEqual({
    jsonrpc: '2.0',
    id: 5,
    result: { _meta: { 'modelcontextprotocol.io/related-task': { taskId } } },
  });
  expect(await ask('tasks/list', list).reply).toEqual({ jsonrpc: '2.0', id: 6, result: { tasks: [] } });
});

test('S1686-22 S1686-43 S1686-67 S1686-68 S1686-70: what is wrong is refused with -32602 and a sentence that says why', async () => {
  const { ask, about } = await talking();
  const refused = (id: number, message: unknown) => ({
    jsonrpc: '2.0',
    id,
    error: { code: -32602, message },
  });
  const begin = () =>
    ask('tools/call', { name: 'nap', arguments: { ms: 60_000 }, _meta: { [taskKey]: { taskId } } });
  await begin().next('notifications/tasks/created');

  // 7.1 Task not found.
  expect(await about('tasks/get', 'nobody')).toEqual(
    refused(2, 'There is no task nobody. It may have been purged after its retention ended.'),
  );
  // 7.1 Result requested for incomplete task.
  expect(await about('tasks/result')).toEqual(
    refused(3, "Cannot retrieve result: Task status is 'submitted', not 'completed'."),
  );
  // 7.1 Duplicate task ID.
  expect(await begin().reply).toEqual(
    refused(4, expect.stringMatching(`^Task ID already exists: ${taskId}\\.`)),
  );
  // 7.1 Invalid cursor.
  expect(await ask('tasks/list', { cursor: 'a guess', _meta: related(taskId) }).reply).toEqual(
    refused(5, 'This server did not issue this cursor to this caller. Start again without one.'),
  );
});
