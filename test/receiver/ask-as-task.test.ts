/** `task.ask(…, { asTask: true })`: the client holds the question as a task, and the server comes back for the answer. */
import { expect, onTestFinished, test } from 'vitest';
import { by, shown } from '../client/rows-recorded.ts';
import { serveAsking } from './asking.ts';
import { holding, RawHolder } from './raw-holder.ts';
import { accepted, relatedTask } from './raw-server.ts';

const made: object = { result: { task: shown('theirs', 'working') } };
const gone: object = { error: { code: -32602, message: 'No such task.' } };
const shows = (status: string, more: object = {}): object => ({ result: shown('theirs', status, more) });

async function asking() {
  const server = await serveAsking();
  onTestFinished(() => server.stop());
  return server;
}

/** A raw client with an open session that has called the tool. */
async function called(url: string, tool: string, capabilities: object = holding) {
  const holder = new RawHolder(url, { capabilities });
  await holder.open();
  onTestFinished(() => holder.hangUp());
  const taskId = await holder.start(tool);
  return { holder, taskId };
}

async function said(holder: RawHolder, taskId: string): Promise<string> {
  const { result } = await holder.outcome(taskId);
  return result.content[0].text;
}

test('the question wishes for a task, the task is polled, and its result is the answer', async () => {
  const { url } = await asking();
  const { holder, taskId } = await called(url, 'greet');
  const statuses = ['working', 'working', 'completed'];
  holder.reply = by({
    'elicitation/create': () => made,
    'tasks/get': () => shows(statuses.shift() ?? 'completed'),
    'tasks/result': () => ({ result: { ...accepted, _meta: { [relatedTask]: { taskId: 'theirs' } } } }),
  });
  await holder.hearken();
  expect(await said(holder, taskId)).toBe('Hello, Kelp!');
  const [question] = holder.requests('elicitation/create');
  expect(question!.params).toMatchObject({ task: {}, _meta: { [relatedTask]: { taskId } } });
  expect(holder.requests('elicitation/create')).toHaveLength(1);
  expect(holder.requests('tasks/get').map(({ params }) => params)).toEqual(
    Array(3).fill({ taskId: 'theirs' }),
  );
  expect(holder.requests('tasks/result').map(({ params }) => params)).toEqual([{ taskId: 'theirs' }]);
});

test('the id of the client’s task is in the store before anything is done with it', async () => {
  const { url, tasks } = await asking();
  const { holder, taskId } = await called(url, 'greet');
  const stored: unknown[] = [];
  holder.reply = async ({ method }) => {
    if (method === 'elicitation/create') return made;
    const [input] = (await tasks.get(taskId))!.inputs;
    stored.push(input!.state === 'open' && input!.entrusted?.taskId);
    return method === 'tasks/get' ? shows('completed') : { result: accepted };
  };
  await holder.hearken();
  await said(holder, taskId);
  expect(stored).toEqual(['theirs', 'theirs']);
});

test('after another stream was opened the same task is pursued, and nothing is asked anew', async () => {
  const { url } = await asking();
  const { holder, taskId } = await called(url, 'greet');
  let status = 'working';
  holder.reply = by({
    'elicitation/create': () => made,
    'tasks/get': () => shows(status),
    'tasks/result': () => ({ result: accepted }),
  });
  await holder.hearken();
  await holder.untilAsked('tasks/get');
  await holder.hangUp();
  const before = holder.requests('tasks/get').length;
  status = 'completed';
  await holder.hearken();
  expect(await said(holder, taskId)).toBe('Hello, Kelp!');
  expect(holder.requests('tasks/get').length).toBeGreaterThan(before);
  expect(holder.requests('elicitation/create')).toHaveLength(1);
});

test('a task that the client has forgotten is asked anew', async () => {
  const { url } = await asking();
  const { holder, taskId } = await called(url, 'greet');
  let names = 0;
  holder.reply = by({
    'elicitation/create': () => ({ result: { task: shown(`theirs ${++names}`, 'working') } }),
    'tasks/get': (params) =>
      params.taskId === 'theirs 1' ? gone : { result: shown('theirs 2', 'completed') },
    'tasks/result': () => ({ result: accepted }),
  });
  await holder.hearken();
  expect(await said(holder, taskId)).toBe('Hello, Kelp!');
  expect(names).toBe(2);
});

test('a client that forgets every task is asked a few times, and then it has answered with cancel', async () => {
  const { url } = await asking();
  const { holder, taskId } = await called(url, 'greet');
  holder.reply = by({ 'elicitation/create': () => made, 'tasks/get': () => gone });
  await holder.hearken();
  expect(await said(holder, taskId)).toBe('Nobody (cancel).');
  expect(holder.requests('elicitation/create')).toHaveLength(4);
});

test('a client that knows no methods about tasks any more is asked anew', async () => {
  const { url } = await asking();
  const { holder, taskId } = await called(url, 'greet');
  const answers: object[] = [made, { result: accepted }];
  holder.reply = by({
    'elicitation/create': () => answers.shift(),
    'tasks/get': () => ({ error: { code: -32601, message: 'Method not found' } }),
  });
  await holder.hearken();
  expect(await said(holder, taskId)).toBe('Hello, Kelp!');
  expect(holder.requests('elicitation/create')).toHaveLength(2);
});

test.each([
  ['cancels', shows('cancelled'), 'Nobody (cancel).'],
  ['fails', shows('failed', { statusMessage: 'The screen is locked.' }), 'Nobody (cancel).'],
])('a client that %s its task has answered a form with cancel', async (_, last, words) => {
  const { url } = await asking();
  const { holder, taskId } = await called(url, 'greet');
  holder.reply = by({
    'elicitation/create': () => made,
    'tasks/get': () => last,
    'tasks/result': () => ({ error: { code: -32603, message: 'The screen is locked.' } }),
  });
  await holder.hearken();
  expect(await said(holder, taskId)).toBe(words);
  expect(holder.requests('elicitation/create')).toHaveLength(1);
});

test('a model that fails as a task is an error to the handler', async () => {
  const { url } = await asking();
  const { holder, taskId } = await called(url, 'ponder');
  holder.reply = by({
    'sampling/createMessage': () => made,
    'tasks/get': () => shows('failed'),
    'tasks/result': () => ({ error: { code: -32603, message: 'No model.' } }),
  });
  await holder.hearken();
  expect(await said(holder, taskId)).toMatch(/^No answer: /);
});

test('S2025-06 S2025-07 S2025-08 a client that cannot make tasks of a question is asked plainly', async () => {
  const { url } = await asking();
  const plain = [
    { elicitation: {} },
    { elicitation: {}, tasks: { requests: { sampling: { createMessage: {} } } } },
  ];
  for (const capabilities of plain) {
    const { holder, taskId } = await called(url, 'greet', capabilities);
    holder.reply = by({ 'elicitation/create': () => ({ result: accepted }) });
    await holder.hearken();
    expect(await said(holder, taskId)).toBe('Hello, Kelp!');
    const [{ params }] = holder.requests('elicitation/create') as [{ params: object }];
    expect(params).not.toHaveProperty('task');
  }
});

test('a client that may make a task and answers at once is understood', async () => {
  const { url } = await asking();
  const { holder, taskId } = await called(url, 'greet');
  holder.reply = by({ 'elicitation/create': () => ({ result: accepted }) });
  await holder.hearken();
  expect(await said(holder, taskId)).toBe('Hello, Kelp!');
  expect(holder.requests('tasks/get')).toEqual([]);
});

test('S2268-10 S2268-16 subtasks of the client’s task are walked to their end before the answer is taken', async () => {
  const { url } = await asking();
  const { holder, taskId } = await called(url, 'greet');
  const looks = new Map<string, number>();
  holder.reply = by({
    'elicitation/create': () => made,
    'tasks/get': ({ taskId: id }) => {
      const nth = (looks.get(id) ?? 0) + 1;
      looks.set(id, nth);
      if (id === 'theirs') return shows(nth > 2 ? 'completed' : 'working', { childTaskIds: ['a', 'b'] });
      const below = id === 'b' ? { childTaskIds: ['b.1'] } : {};
      const parentTaskId = id === 'b.1' ? 'b' : 'theirs';
      return { result: shown(id, nth > 1 ? 'completed' : 'working', { parentTaskId, ...below }) };
    },
    'tasks/result': ({ taskId: id }) => ({ result: id === 'theirs' ? accepted : { action: 'decline' } }),
  });
  await holder.hearken();
  expect(await said(holder, taskId)).toBe('Hello, Kelp!');
  expect([...looks.keys()].sort()).toEqual(['a', 'b', 'b.1', 'theirs']);
  expect(Math.min(...looks.values())).toBeGreaterThan(1);
});

test('a task that is cancelled cancels the task that its client holds for it', async () => {
  const { url } = await asking();
  const { holder, taskId } = await called(url, 'greet');
  holder.reply = by({
    'elicitation/create': () => made,
    'tasks/get': () => shows('working'),
    'tasks/cancel': () => shows('cancelled'),
  });
  await holder.hearken();
  await holder.untilAsked('tasks/get');
  await holder.request('tasks/cancel', { taskId });
  const { params } = await holder.untilAsked('tasks/cancel');
  expect(params).toEqual({ taskId: 'theirs' });
});
