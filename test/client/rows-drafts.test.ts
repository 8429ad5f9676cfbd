/** Requirements of SEP-2229, SEP-2268 and SEP-2339 for callers of tasks. */
import { expect, test } from 'vitest';
import { MalformedAnswer, TaskCancelled } from '../../src/remote-tasks/errors.ts';
import { served } from '../dialects/revision-2025-11-25/peer.ts';
import { accepted } from '../receiver/raw-server.ts';
import { by, facing, type Message, oneByOne, recorded, shown, text } from './rows-recorded.ts';

const flagged = (...drafts: string[]) => ({
  tools: {},
  tasks: { list: {}, cancel: {} },
  experimental: Object.fromEntries(drafts.map((draft) => [draft, {}])),
});

// --- SEP-2229 ---------------------------------------------------------------------------------------------

test('S2229-05 S2229-16 a call returns its result with or without a task', async () => {
  const { url } = await served({ drafts: 'all' });
  const { tasks, of } = await recorded(url, { drafts: ['sep-2229'] });
  expect(await tasks.callTool({ name: 'greet', arguments: { name: 'x' } })).toMatchObject(text('Hello, x!'));
  expect(of('tasks/get')).toEqual([]);
  expect(await tasks.callTool({ name: 'nap', arguments: { ms: 20 } })).toMatchObject(text('woke'));
  expect(of('tasks/get').length).toBeGreaterThan(0);
  for (const { params } of of('tools/call')) expect(params).not.toHaveProperty('task');
});

test('S2229-07 S2229-01 a task is accepted as the answer to any request', async () => {
  const { url } = await served({ drafts: 'all' });
  const { tasks, of } = await recorded(url, { drafts: ['sep-2229'] });
  expect(await tasks.readResource({ uri: 'report://daily' })).toMatchObject({
    contents: [{ text: 'The report daily.' }],
  });
  expect(await tasks.getPrompt({ name: 'letter', arguments: { to: 'Ada' } })).toMatchObject({
    messages: [{ content: { text: 'Write a letter to Ada.' } }],
  });
  const made = new Set(of('tasks/get').map(({ params }) => params.taskId));
  expect(made.size).toBe(2);
});

test('S2229-06 a requested ttl is sent', async () => {
  const { url } = await served({ drafts: 'all' });
  const { tasks, of } = await recorded(url, { drafts: ['sep-2229'] });
  await tasks.callTool({ name: 'nap', arguments: { ms: 10 } }, { ttl: '90s' });
  expect(of('tools/call')[0]!.params.task).toEqual({ ttl: 90_000 });
});

test('S2229-15 an answer is a task if it contains nothing else but metadata', async () => {
  const replies = [
    { task: shown('t', 'working'), _meta: { 'example.com/more': 1 } },
    { task: shown('t', 'working'), ...text('a result that has a task in it') },
  ];
  const { tasks } = await facing(
    by({
      'tools/call': () => ({ result: replies.shift()! }),
      'tasks/get': () => ({ result: shown('t', 'completed') }),
      'tasks/result': () => ({ result: text('of the task') }),
    }),
    { drafts: 'all', says: { capabilities: flagged('sep-2229') } },
  );
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('of the task'));
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('a result that has a task in it'));
});

// --- SEP-2268 ---------------------------------------------------------------------------------------------

type Tree = Record<string, { parentTaskId?: string; childTaskIds?: string[]; looks?: number }>;

/** A tree of tasks. Each is done after a number of polls. */
function tree(nodes: Tree, onResult = (_: string) => {}) {
  const looks = new Map<string, number>();
  return facing(
    by({
      'tools/call': () => ({ result: { task: shown('root', 'working') } }),
      'tasks/get': ({ taskId }) => {
        const { looks: needed = 1, ...links } = nodes[taskId] ?? {};
        const seen = (looks.get(taskId) ?? 0) + 1;
        looks.set(taskId, seen);
        return { result: shown(taskId, seen >= needed ? 'completed' : 'working', links) };
      },
      'tasks/result': ({ taskId }) => {
        onResult(taskId);
        return { result: text(taskId) };
      },
    }),
    {
      drafts: 'all',
      says: { capabilities: { ...flagged('sep-2268'), tasks: { requests: { tools: { call: {} } } } } },
    },
  );
}

const family: Tree = {
  root: { childTaskIds: ['a', 'b'], looks: 8 },
  a: { parentTaskId: 'root', childTaskIds: ['a.1', 'a.2'], looks: 7 },
  'a.1': { parentTaskId: 'a', looks: 6 },
  'a.2': { parentTaskId: 'a', looks: 3 },
  b: { parentTaskId: 'root', looks: 2 },
};

test('S2268-10 S2268-16 S2268-18 S2268-20 results are in the order of the lists, children first, not in the order of ends', async () => {
  const ended: string[] = [];
  const { tasks } = await tree(family, (id) => ended.push(id));
  const handle = await tasks.call('work');
  const updates = Array.fromAsync<Message>(handle.updates());
  const results = await handle.results();
  expect(ended.slice(0, 3)).toEqual(['b', 'a.2', 'a.1']);
  expect(results.map(({ content }) => (content as Message[])[0]!.text)).toEqual([
    'a.1',
    'a.2',
    'a',
    'b',
    'root',
  ]);
  expect(handle.tree()).toMatchObject({
    task: { taskId: 'root' },
    children: [
      { task: { taskId: 'a' }, children: [{ task: { taskId: 'a.1' } }, { task: { taskId: 'a.2' } }] },
      { task: { taskId: 'b' } },
    ],
  });
  const found = (await updates).filter(({ type }) => type === 'child');
  expect(found.map(({ taskId, parentId }) => `${parentId} > ${taskId}`).sort()).toEqual([
    'a > a.1',
    'a > a.2',
    'root > a',
    'root > b',
  ]);
});

test.each<[string, Tree]>([
  ['lists itself', { root: { childTaskIds: ['root'] } }],
  [
    'lists its parent',
    { root: { childTaskIds: ['a'], looks: 1_000 }, a: { childTaskIds: ['root'], looks: 1_000 } },
  ],
  ['is listed twice', { root: { childTaskIds: ['a', 'a'] } }],
  [
    'has two parents',
    {
      root: { childTaskIds: ['a', 'b'], looks: 1_000 },
      a: { childTaskIds: ['c'], looks: 1_000 },
      b: { childTaskIds: ['c'], looks: 1_000 },
    },
  ],
])('S2268-36 a task that %s ends the call with an error, and no look follows', async (_, nodes) => {
  const { tasks, of } = await tree(nodes);
  await expect(tasks.callTool({ name: 'work' })).rejects.toThrow(MalformedAnswer);
  const looks = of('tasks/get').length;
  expect(looks).toBeLessThan(20);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(of('tasks/get')).toHaveLength(looks);
});

test('S2268-22 a subtask that names another parent is an error', async () => {
  const { tasks } = await tree({
    root: { childTaskIds: ['a'], looks: 5 },
    a: { parentTaskId: 'other', looks: 3 },
  });
  await expect(tasks.callTool({ name: 'work' })).rejects.toThrow(MalformedAnswer);
});

test('S2268-35 without the draft a tree is one task, and its questions are answered on it', async () => {
  const { url } = await served({ drafts: 'all' });
  const { tasks, of } = await recorded(url, {
    answers: ['form'],
    answer: () => ({ action: 'accept', content: { confirm: true } }),
  });
  const result = await tasks.callTool({
    name: 'fan_out',
    arguments: { children: 2, depth: 1, delayMs: 10, ask: true },
  });
  expect(result).toMatchObject(text('parent 1 2'));
  expect(new Set(of('tasks/get').map(({ params }) => params.taskId)).size).toBe(1);
});

test('S2268-37 a list may show a child before its parent, on another page', async () => {
  const { tasks } = await facing(
    by({
      'tasks/list': ({ cursor }) =>
        cursor === undefined
          ? { result: { tasks: [shown('child', 'working', { parentTaskId: 'parent' })], nextCursor: 'next' } }
          : { result: { tasks: [shown('parent', 'working', { childTaskIds: ['child'] })] } },
    }),
    { drafts: 'all', says: { capabilities: flagged('sep-2268') } },
  );
  expect(await Array.fromAsync(tasks.list())).toMatchObject([
    { taskId: 'child', parentId: 'parent' },
    { taskId: 'parent', childIds: ['child'] },
  ]);
});

// --- SEP-2339 ---------------------------------------------------------------------------------------------

const question = {
  method: 'elicitation/create',
  params: { message: 'Name?', requestedSchema: { type: 'object' } },
};

test('S2339-01 S2339-02 S2339-05 S2339-06 S2339-14 S2339-25 one method for all: tasks/continue asks, answers and brings the result', async () => {
  const { url } = await served({ drafts: 'all' });
  const { tasks, sent, of } = await recorded(url, {
    drafts: ['sep-2339'],
    answers: ['form'],
    answer: () => accepted,
  });
  const handle = await tasks.call('ask_name');
  expect(await handle.result()).toMatchObject(text('Hello, Kelp!'));
  const about = sent.filter(({ method }) => String(method).startsWith('tasks/'));
  expect(new Set(about.map(({ method }) => method))).toEqual(new Set(['tasks/continue']));
  const answered = of('tasks/continue').filter(({ params }) => params.inputResponses);
  expect(answered.map(({ params }) => params)).toEqual([
    { taskId: handle.taskId, inputResponses: { name: accepted } },
  ]);
  expect(of('tools/call')[0]!.params.task).toEqual({});
});

test.each([
  ['alone', { inputRequests: { who: question } }],
  ['next to the task', { ...shown('t', 'input_required'), inputRequests: { who: question } }],
])('S2339-23 S2339-20 questions are understood %s', async (_, asked) => {
  const reply = oneByOne<object>(shown('t', 'working'), asked, asked);
  let answers: unknown;
  const { tasks, of } = await facing(
    by({
      'tools/call': () => ({ result: { task: shown('t', 'working') } }),
      'tasks/continue': ({ inputResponses }) => {
        if (inputResponses) answers = inputResponses;
        return { result: answers ? shown('t', 'completed', { result: text('done') }) : reply() };
      },
    }),
    {
      drafts: ['sep-2339'],
      answers: ['form'],
      answer: () => accepted,
      says: { capabilities: { ...flagged('sep-2339'), tasks: { requests: { tools: { call: {} } } } } },
    },
  );
  expect(await tasks.callTool({ name: 'work' })).toMatchObject(text('done'));
  expect(answers).toEqual({ who: accepted });
  // tasks/continue is enough to reach the end, without tasks/get.
  expect(of('tasks/get')).toEqual([]);
});

test('S2339-21 a client that cannot answer cancels the task', async () => {
  const { url } = await served({ drafts: 'all' });
  const { tasks, of } = await recorded(url, {
    drafts: ['sep-2339'],
    answers: ['sampling'],
    answer: () => Promise.reject(new Error('No model here.')),
  });
  const handle = await tasks.call('sample', { prompt: 'x' });
  await expect(handle.result()).rejects.toThrow(TaskCancelled);
  expect(of('tasks/cancel').map(({ params }) => params)).toEqual([{ taskId: handle.taskId }]);
});

test('S2339-22 S2339-24 declining is an answer, and the work resumes', async () => {
  const { url } = await served({ drafts: 'all' });
  const { tasks, of } = await recorded(url, {
    drafts: ['sep-2339'],
    answers: ['form'],
    answer: () => ({ action: 'decline' }),
  });
  const result = await tasks.callTool({ name: 'confirm_delete', arguments: { filename: 'a' } });
  expect(result).toMatchObject(text('kept a'));
  expect(of('tools/call')).toHaveLength(1);
});
