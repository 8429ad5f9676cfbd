/** Trees of tasks that no honest server grows. */
import { MalformedAnswer } from 'holdfast/client';
import { describe, expect, test } from 'vitest';
import { meet } from './meeting.ts';
import { type Asked, completed, done, Fault, Raw, type Says, silence, task, type Wire } from './server.ts';

/** What is said of each task; of one that is not listed, that it works on. */
function tree(says: Readonly<Record<string, (asked: Asked) => Wire>>): Says {
  return (asked) => {
    const { taskId } = asked.params;
    return says[taskId]?.(asked) ?? task(taskId, 'working');
  };
}

const working =
  (taskId: string, childTaskIds: readonly unknown[], more: Wire = {}) =>
  () =>
    task(taskId, 'working', { childTaskIds, ...more });

/** One look, and another from then on. */
const first = (one: Wire, then: Wire) => {
  let looks = 0;
  return () => (looks++ === 0 ? one : then);
};

const wrong: readonly [string, Readonly<Record<string, (asked: Asked) => Wire>>, string][] = [
  [
    'a circle',
    { root: working('root', ['a']), a: working('a', ['b']), b: working('b', ['root']) },
    'task root is listed as a subtask of b, but is already elsewhere in the same tree',
  ],
  ['a task that is its own subtask', { root: working('root', ['root']) }, 'task root is listed as its own'],
  [
    'a task with two parents',
    { root: working('root', ['a', 'b']), a: working('a', ['c']), b: working('b', ['c']) },
    'task c is listed as a subtask of ',
  ],
  [
    'a task that is listed twice',
    { root: working('root', ['a', 'a']) },
    'task a is listed as a subtask of root, but is already elsewhere',
  ],
  [
    'a subtask that names another parent',
    { root: working('root', ['a']), a: working('a', [], { parentTaskId: 'x' }) },
    'task a is listed as a subtask of root, but its parentTaskId is x',
  ],
  [
    'a list of subtasks that shrinks',
    { root: first(working('root', ['a', 'b'])(), working('root', ['a'])()) },
    'existing entries in the childTaskIds of task root changed or disappeared',
  ],
  [
    'a list of subtasks that changes its order',
    { root: first(working('root', ['a', 'b'])(), working('root', ['b', 'a'])()) },
    'existing entries in the childTaskIds of task root changed or disappeared',
  ],
  [
    'a list of subtasks that is none',
    { root: () => task('root', 'working', { childTaskIds: { a: 1 } }) },
    'the childTaskIds of task root are not a list of strings',
  ],
  [
    'a list of things that are no tasks',
    { root: working('root', ['a', 7]) },
    'the childTaskIds of task root are not a list of strings',
  ],
  [
    'a parent that ends before its subtask',
    { root: () => ({ ...completed('root'), childTaskIds: ['a'] }) },
    'the parent of task a has ended, but the task is still working',
  ],
];

describe('the call ends, and its error says what is wrong with', () => {
  test.each(wrong)('%s', async (_, says, sentence) => {
    const { tasks, server } = await meet('2026-07-28', { 'tasks/get': tree(says) }, { drafts: 'all' });
    const error = await tasks.callTool({ name: 't' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MalformedAnswer);
    expect((error as Error).message).toContain(`The server broke the protocol: ${sentence}`);
    expect(server.count('tasks/get')).toBeLessThan(30);
  });

  test('a tree that is deeper and deeper', async () => {
    const says: Says = ({ params: { taskId } }) =>
      task(taskId, 'working', { childTaskIds: [`${taskId}.1`], parentTaskId: taskId.slice(0, -2) });
    const { tasks, server } = await meet('2026-07-28', { 'tasks/get': says }, { drafts: 'all' });
    await expect(tasks.callTool({ name: 't' })).rejects.toThrow(MalformedAnswer);
    expect(server.count('tasks/get')).toBeLessThan(200);
  });

  test('a tree that is wider and wider', async () => {
    let children: string[] = [];
    const says = tree({
      root: () => {
        children = [...children, ...Array.from({ length: 400 }, (_, n) => `c${children.length + n}`)];
        return task('root', 'working', { childTaskIds: children });
      },
    });
    const { tasks, server } = await meet(
      '2026-07-28',
      { 'tasks/get': says },
      { drafts: 'all', limits: { maxDepth: 16, maxTasks: 1_000 } },
    );
    await expect(tasks.callTool({ name: 't' })).rejects.toThrow(MalformedAnswer);
    expect(server.mostAtOnce).toBeLessThanOrEqual(8);
  });
});

test('a subtask that its server does not know any more is lost, and its parent is not', async () => {
  const says = tree({
    root: first(working('root', ['a'])(), { ...completed('root'), childTaskIds: ['a'] }),
  });
  const { tasks, server } = await meet('2026-07-28', { 'tasks/get': says }, { drafts: 'all' });
  const get = server.says.get('tasks/get')!;
  server.says.set('tasks/get', (asked) =>
    asked.params.taskId === 'a' ? new Fault(-32602, 'No such task.') : get(asked),
  );
  const handle = await tasks.call('t');
  expect(await handle.result()).toMatchObject({ content: [{ text: 'done' }] });
  expect(handle.tree()?.children.length ?? 0).toBe(0);
});

test('subtasks are looked at eight at a time, however many there are', async () => {
  const subtasks = process.env.HOLDFAST_LANE === 'long' ? 9_999 : 999;
  const childTaskIds = Array.from({ length: subtasks }, (_, n) => `c${n}`);
  const shown = (taskId: string) =>
    taskId === 'root' ? { ...completed('root'), childTaskIds } : completed(taskId);
  const says: Says = ({ params: { taskId } }) =>
    new Raw((response, { id }) => {
      response.setHeader('content-type', 'application/json');
      const answer = JSON.stringify({ jsonrpc: '2.0', id, result: shown(taskId) });
      setTimeout(() => response.end(answer), 3);
    });
  const { tasks, server } = await meet('2026-07-28', { 'tasks/get': says }, { drafts: 'all' });
  const handle = await tasks.call('t');
  expect(await handle.results()).toHaveLength(subtasks + 1);
  expect(server.mostAtOnce).toBeLessThanOrEqual(8 + 1); // and one subscription
  expect(server.count('tasks/get')).toBe(subtasks + 1);
});

test('not every subtask that asks gets a stream of its own', async () => {
  const childTaskIds = Array.from({ length: 100 }, (_, n) => `c${n}`);
  let isOver = false;
  const { tasks, server } = await meet(
    '2025-11-25',
    {
      'tasks/get': ({ params: { taskId } }) => {
        const status = isOver ? 'completed' : taskId === 'root' ? 'working' : 'input_required';
        return task(taskId, status, taskId === 'root' ? { childTaskIds } : {});
      },
      'tasks/result': ({ before }) => {
        if (before < 32) return silence;
        return done;
      },
    },
    { drafts: 'all' },
  );
  const handle = await tasks.call('t');
  await expect.poll(() => server.count('tasks/result')).toBe(32);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(server.count('tasks/result')).toBe(32);
  isOver = true;
  expect(await handle.results()).toHaveLength(101);
});

test('a parent that ends wakes those who wait long for its subtasks', async () => {
  const says = tree({
    root: first(working('root', ['a'])(), { ...completed('root'), childTaskIds: ['a'] }),
    a: first(task('a', 'working', { pollIntervalMs: 600_000 }), completed('a')),
  });
  const { tasks } = await meet(
    '2026-07-28',
    { 'tasks/get': says },
    { drafts: 'all', pace: { floorMs: 10, ceilingMs: 600_000, defaultMs: 20 } },
  );
  const handle = await tasks.call('t');
  expect(await handle.results()).toHaveLength(2);
});
