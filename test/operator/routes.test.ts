/** All requests of the API over HTTP, on both stores. */
import { durableTool, type Tasks } from 'holdfast';
import { describe, expect, test } from 'vitest';
import type { OverviewReport, TaskSummary } from '../../src/operator/api.ts';
import { Operator } from '../../src/operator/operator.ts';
import { logOf } from '../audit/log.ts';
import { kinds } from '../stores/kinds.ts';
import { ada, asked, stage } from './stage.ts';

describe.each(kinds)('on $name', ({ place }) => {
  test('tasks are listed, the newest first, by pages and by filters', async () => {
    const { tasks, list, ask } = await stage({ place: await place(), works: false });
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e'])
      ids.unshift((await tasks.create('greet', { name }, { owner: name })).id);
    await tasks.cancel(ids[0]!, 'Not wanted.');

    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await list(`?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
      seen.push(...page.tasks.map(({ id }) => id));
      cursor = page.nextCursor ?? '';
    } while (cursor);
    expect(seen).toEqual(ids);

    expect((await list('?status=cancelled&status=failed')).tasks).toMatchObject([
      { id: ids[0], status: 'cancelled', problem: 'Not wanted.' },
    ]);
    expect((await list('?owner=b')).tasks.map(({ id }) => id)).toEqual([ids[3]]);
    expect((await list(`?text=${ids[2]}`)).tasks.map(({ id }) => id)).toEqual([ids[2]]);
    expect((await list('?tool=nothing')).tasks).toEqual([]);
    expect((await ask('/count?status=queued')).body).toEqual({ count: 4, isMore: false });
  });

  test('an owner name that databases cannot store causes no error', async () => {
    const { tasks, list, story } = await stage({ place: await place(), works: false });
    const odd = await tasks.create('greet', { name: 'a' }, { owner: 'half \ud800, zero \0' });
    const usual = await tasks.create('greet', { name: 'b' });
    expect((await list()).tasks.map(({ id }) => id)).toEqual([usual.id, odd.id]);
    expect((await story(odd.id)).task.id).toBe(odd.id);
  });

  test('the details of a task contain its passes, calls, result and audit log', async () => {
    const { tasks, story } = await stage({ place: await place() });
    const { id } = await tasks.create('greet', { name: 'Ada' });
    await tasks.outcome(id);
    await tasks.recorder!.flush();
    const told = await story(id);
    expect(told).toMatchObject({
      task: { id, status: 'completed', tool: 'greet', passes: 1 },
      origin: { dialect: 'direct', method: 'tools/call' },
      arguments: { name: 'Ada' },
      outcome: {
        kind: 'result',
        isError: false,
        value: { content: [{ type: 'text', text: 'Hello, Ada.' }] },
      },
      passes: [{ number: 1, end: 'ended', replayed: 0 }],
      calls: [{ kind: 'step', name: 'think', state: 'ok', value: 'Hello', pass: 1 }],
      questions: [],
      children: [],
      ancestors: [],
      omittedEvents: 0,
      wakeAt: null,
    });
    expect(told.events.map(({ event }) => event.type)).toEqual(
      expect.arrayContaining(['created', 'claimed', 'recorded', 'finished']),
    );
    expect(told.audit.map(({ action }) => action)).toEqual(expect.arrayContaining(['created', 'ended']));
  });

  test('the details of a task contain its subtasks, which have details of their own', async () => {
    const { tasks, story } = await stage({ place: await place() });
    const { id } = await tasks.create('family');
    await tasks.outcome(id);
    const { children, calls } = await story(id);
    expect(children.map(({ tool, status, parentId }) => ({ tool, status, parentId }))).toEqual([
      { tool: 'line', status: 'completed', parentId: id },
      { tool: 'line', status: 'completed', parentId: id },
    ]);
    expect(calls.filter(({ kind }) => kind === 'start').map(({ childId }) => childId)).toEqual(
      children.map((child) => child.id),
    );
    expect(await story(children[1]!.id)).toMatchObject({
      arguments: { in: 'b' },
      ancestors: [{ id, tool: 'family' }],
    });
  });

  test('a question is answered once, with a valid answer', async () => {
    const { tasks, act, story } = await stage({ place: await place() });
    const { id } = await tasks.create('approve');
    await asked(tasks, id);
    expect((await story(id)).questions).toMatchObject([{ key: 'approval', state: 'open' }]);
    const accept = { action: 'accept', content: { go: true } };

    expect(
      await act(id, 'answer', { key: 'approval', response: { action: 'accept', content: { go: 3 } } }),
    ).toMatchObject({ status: 400 });
    expect(await act(id, 'answer', { key: 'other', response: accept })).toMatchObject({ status: 409 });
    expect(await act(id, 'answer', { key: 'approval', response: accept })).toMatchObject({ status: 200 });
    await tasks.outcome(id);
    expect(await act(id, 'answer', { key: 'approval', response: accept })).toMatchObject({ status: 409 });
    expect(await story(id)).toMatchObject({
      task: { status: 'completed' },
      questions: [{ key: 'approval', state: 'answered', response: accept }],
    });
    expect(await logOf(tasks, { taskId: id, action: 'answered' })).toMatchObject([{ by: 'operator' }]);
  });

  test('any task of a tree cancels it, and a finished task cannot be cancelled', async () => {
    const { tasks, act, ask } = await stage({ place: await place() });
    const { id } = await tasks.create('approve');
    await asked(tasks, id);
    expect(await act(id, 'cancel', { reason: 'Too late.' })).toMatchObject({
      status: 200,
      body: { id, status: 'cancelled', problem: 'Too late.' },
    });
    expect(await act(id, 'cancel')).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('done') } },
    });
    expect(await logOf(tasks, { taskId: id, action: 'cancelled' })).toMatchObject([
      { by: 'operator', reason: 'Too late.' },
    ]);
    expect((await ask('/tasks/nobody/cancel', { method: 'POST', body: {} })).status).toBe(404);
  });

  test('a failed task is retried once with the same arguments, however often it is requested', async () => {
    const { tasks, act, story, list } = await stage({ place: await place() });
    const { id } = await tasks.create('break', { any: 'thing' }, { owner: ada });
    await tasks.outcome(id);
    expect((await story(id)).task).toMatchObject({ status: 'failed', problem: 'It broke.' });

    const answers = await Promise.all([1, 2, 3].map(() => act(id, 'retry')));
    const [again] = answers.map(({ body }) => body.id);
    expect(answers.map(({ status, body }) => [status, body.id])).toEqual(
      [200, 200, 200].map((ok) => [ok, again]),
    );
    await tasks.outcome(again!);
    expect((await act(id, 'retry')).body.id).toBe(again);
    expect((await list()).tasks.map((task) => task.id)).toEqual([again, id]);
    expect(await story(id)).toMatchObject({ retriedAs: again });
    expect(await story(again!)).toMatchObject({
      retryOf: id,
      arguments: { any: 'thing' },
      task: { owner: ada, tool: 'break', status: 'failed' },
      audit: expect.arrayContaining([expect.objectContaining({ action: 'created', by: 'operator' })]),
    });
    expect((await act(again!, 'retry')).body.id).not.toBe(again);
  });

  test('a retry of a completed or live task, a subtask, or an unknown tool is refused with a reason', async () => {
    const at = await place();
    const { tasks, act } = await stage({ place: at });
    const done = await tasks.create('greet', { name: 'Ada' });
    const waiting = await tasks.create('approve');
    const broken = await tasks.create('break');
    await Promise.all([tasks.outcome(done.id), tasks.outcome(broken.id), asked(tasks, waiting.id)]);
    expect(await act(done.id, 'retry')).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('has completed') } },
    });
    expect(await act(waiting.id, 'retry')).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('is waiting') } },
    });
    const other = await stage({ place: at, tools: [], works: false });
    expect(await other.act(broken.id, 'retry')).toMatchObject({
      status: 409,
      body: {
        error: { message: expect.stringContaining('Unknown durable tool "break". None is registered here.') },
      },
    });
  });

  test('a finished tree is purged completely', async () => {
    const { tasks, act, ask, list } = await stage({ place: await place() });
    const { id } = await tasks.create('family');
    await tasks.outcome(id);
    const [child] = (await list(`?text=${id}`)).tasks as [TaskSummary];
    expect(child.id).toBe(id);
    const waiting = await tasks.create('approve');
    await asked(tasks, waiting.id);
    expect(await act(waiting.id, 'purge')).toMatchObject({ status: 409 });
    expect(await act(id, 'purge')).toMatchObject({ status: 200, body: {} });
    expect((await ask(`/tasks/${id}`)).status).toBe(404);
    expect((await ask(`/tasks/${id}/result`)).status).toBe(404);
    expect(await logOf(tasks, { taskId: id, action: 'deleted' })).toMatchObject([{ by: 'operator' }]);
  });

  test('an overview counts live and finished tasks, and lists a few', async () => {
    const { tasks, ask } = await stage({ place: await place() });
    const greeted = await tasks.create('greet', { name: 'Ada' });
    const broken = await tasks.create('break');
    const waiting = await tasks.create('approve');
    await Promise.all([tasks.outcome(greeted.id), tasks.outcome(broken.id), asked(tasks, waiting.id)]);
    const { body } = await ask<OverviewReport>('/overview?window=600000');
    expect(body).toMatchObject({
      live: { queued: 0, running: 0, waiting: 1 },
      ended: { completed: 1, failed: 1, cancelled: 0, lost: 0 },
      waiting: [{ id: waiting.id }],
      failing: [{ id: broken.id }],
    });
    expect(body.until - body.since).toBe(600_000);
    expect(body.buckets).toHaveLength(60);
  });
});

test('a long journal is read in many turns of the event loop and shortened', async () => {
  const rows = Array.from({ length: 1_000 }, (_, n) => ({ n, text: 'y'.repeat(100) }));
  const long = durableTool('long', {}, async (_, task) => {
    for (let n = 0; n < 80; n++) await task.step(`${n}`, () => rows);
  });
  const { tasks } = await stage({ tools: [long] });
  const { id } = await tasks.create('long');
  await tasks.outcome(id);
  const { told, turns } = await toldInTurns(tasks, id);
  expect(told!.calls).toHaveLength(80);
  // Nine megabytes were read, of which each turn saw about one.
  expect(turns).toBeGreaterThan(8);
  expect(JSON.stringify(told).length).toBeLessThan(300_000);
});

test('each subtask is read in its own turn of the event loop, because results can be large', async () => {
  const one = durableTool('one', {}, async () => 'Done.');
  const many = durableTool('many', {}, async (_, task) => {
    for (const subtask of await Promise.all(Array.from({ length: 40 }, () => task.start(one))))
      await subtask.result();
  });
  const { tasks } = await stage({ tools: [one, many] });
  const { id } = await tasks.create('many');
  await tasks.outcome(id);
  const { told, turns } = await toldInTurns(tasks, id);
  expect(told!.children).toHaveLength(40);
  expect(turns).toBeGreaterThan(40);
});

/** The details of a task, and the number of turns of the event loop that reading took. */
async function toldInTurns(tasks: Tasks, id: string) {
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  turn();
  const told = await new Operator(tasks).details(id);
  isOver = true;
  return { told, turns };
}

test('a large result is omitted from the details, and returned by its own request', async () => {
  const { tasks, story, ask } = await stage();
  const { id } = await tasks.create('greet', { name: 'x'.repeat(100_000) });
  expect((await ask(`/tasks/${id}/result`)).status).toBeOneOf([200, 409]);
  await tasks.outcome(id);
  expect(await story(id)).toMatchObject({ outcome: { kind: 'result', value: null, isLarge: true } });
  const { text } = await ask(`/tasks/${id}/result`);
  expect(text.length).toBeGreaterThan(100_000);
});

test.each([
  ['/tasks?status=done', 'Unknown "status": "done". Use one or more of: queued, running'],
  ['/tasks?limit=0', '"limit" must be a whole number from 1 to 500.'],
  ['/tasks?limit=many', '"limit" is "many"; use a whole number.'],
  ['/tasks?since=yesterday', '"since" is "yesterday"; use a whole number, milliseconds since 1970.'],
  ['/tasks?state=failed', 'Unknown parameter "state". Use one or more of: status, tool'],
  ['/tasks?tool=a&tool=b', '"tool" occurs 2 times; use it once.'],
  ['/tasks?cursor=rubbish', 'cursor'],
  ['/overview?window=1', '"window" must be a whole number of milliseconds'],
  ['/about?x=1', 'Unknown parameter "x". Remove it.'],
])('GET %s is refused with the reason', async (path, message) => {
  const { ask } = await stage({ works: false });
  expect(await ask(path)).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining(message) } },
  });
});

test('invalid bodies are refused with a hint', async () => {
  const { tasks, ask } = await stage({ works: false });
  const { id } = await tasks.create('approve');
  const post = (text: string, action = 'cancel') => ask(`/tasks/${id}/${action}`, { method: 'POST', text });
  expect((await post('{')).status).toBe(400);
  expect((await post('[]')).status).toBe(400);
  expect((await post('{"reason": 3}')).status).toBe(400);
  expect((await post('{}', 'answer')).status).toBe(400);
  expect((await post('{"key": "approval", "response": true}', 'answer')).status).toBe(400);
  expect((await post(JSON.stringify({ reason: 'x'.repeat(2 ** 20) }))).status).toBe(413);
  expect((await tasks.get(id))!.phase).toBe('queued');
});

test('other methods and other paths are refused', async () => {
  const { ask } = await stage({ works: false });
  expect(await ask('/tasks', { method: 'DELETE' })).toMatchObject({ status: 405, headers: { allow: 'GET' } });
  expect(await ask('/tasks/abc/cancel')).toMatchObject({ status: 405, headers: { allow: 'POST' } });
  for (const path of [
    '',
    '/',
    '/nowhere',
    '/tasks/abc/explode',
    '/tasks/abc/cancel/now',
    '/tasks/%ff',
    '/about/x',
    // What every object has is no request.
    '/constructor',
    '/toString',
    '/__proto__',
    '/tasks/abc/constructor',
  ])
    expect((await ask(path)).status, path).toBe(404);
});

test('errors quote a long request in short', async () => {
  const { tasks, ask, act } = await stage({ works: false });
  const long = 'x'.repeat(10_000);
  for (const path of [`/tasks?${long}=1`, `/tasks?status=${long}`, `/tasks?limit=${long}`, `/${long}`])
    expect((await ask(path)).text.length, path.slice(0, 20)).toBeLessThan(500);
  const { id } = await tasks.create('approve');
  const answer = await act(id, 'answer', { key: long, response: { action: 'decline' } });
  expect(answer.status).toBe(409);
  expect(answer.text.length).toBeLessThan(500);
});
