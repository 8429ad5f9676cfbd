import { expect, test } from 'vitest';
import { type Message, type Requestor, related, serving, unasked } from './requestor.ts';

const ends = ['completed', 'failed', 'cancelled', 'unknown'];
const mayFollow: Record<string, string[]> = {
  submitted: ['working', 'input_required', ...ends],
  working: ['input_required', ...ends],
  input_required: ['working', ...ends],
};
const yes = { action: 'accept', content: { name: 'Ada', confirm: true } };

/** Looks at a task until it is done, and tells what it saw, each status once in a row. */
async function statuses(requestor: Requestor, taskId: string): Promise<string[]> {
  const seen: string[] = [];
  while (!ends.includes(seen.at(-1)!)) {
    const { status } = (await requestor.get(taskId)).result;
    if (status !== seen.at(-1)) seen.push(status);
  }
  return seen;
}

test('S1686-25 S1686-02: a task that no worker has begun is submitted, and can be picked up later', async () => {
  const { requestor, tasks } = await serving({ works: false });
  const { reply } = await requestor.start('one', 'big', { bytes: 2 });
  expect((await requestor.get('one')).result.status).toBe('submitted');
  await tasks.work({ grace: '100ms' });
  await reply;
  expect((await requestor.result('one')).result.content[0].text).toBe('xx');
});

test('S1686-30: work that is over at once goes from submitted to completed', async () => {
  const { requestor, tasks } = await serving({ works: false });
  const { reply } = await requestor.start('one', 'big', { bytes: 1 });
  const before = (await requestor.get('one')).result.status;
  await tasks.work({ grace: '100ms' });
  await reply;
  expect([before, ...(await statuses(requestor, 'one'))]).toEqual(['submitted', 'completed']);
});

test('a task is working as soon as a worker has begun it', async () => {
  const { requestor } = await serving();
  await requestor.start('one', 'nap', { ms: 60_000 });
  await requestor.until('one', 'working');
});

test('S1686-26 S1686-27 S1686-28 S1686-35: of a crowd of tasks, each goes only the ways that there are', async () => {
  const { requestor } = await serving();
  const kinds = [
    ['ask_name', {}],
    ['multi_input', {}],
    ['slow_compute', { seconds: 0.2 }],
    ['protocol_error_job', {}],
    ['throws', {}],
    ['fan_out', { children: 2, depth: 1, delayMs: 20, ask: true }],
    ['nap', { ms: 100 }],
  ] as const;
  const seen = await Promise.all(
    Array.from({ length: 42 }, async (_, n) => {
      const taskId = `task ${n}`;
      const [tool, input] = kinds[n % kinds.length]!;
      const exchange = await requestor.start(taskId, tool, input);
      const looking = statuses(requestor, taskId);
      // A third is cancelled: some while they work, some while they wait, some too late.
      if (n % 3 === 0) setTimeout(() => void requestor.cancel(exchange.id), n * 10);
      const questions = tool === 'multi_input' || tool === 'fan_out' ? 2 : tool === 'ask_name' ? 1 : 0;
      for (let asked = 1; asked <= questions && n % 3 !== 0; asked++) {
        const question = (await exchange.heard('elicitation/create', asked))[asked - 1]!;
        await requestor.answer(question.id, yes);
      }
      return looking;
    }),
  );
  for (const way of seen)
    for (const [n, status] of way.slice(1).entries()) expect(mayFollow[way[n]!]).toContain(status);
  expect(new Set(seen.map((way) => way.at(-1)))).toEqual(new Set(['completed', 'failed', 'cancelled']));
  expect(seen.flat()).toContain('input_required');
});

test('S1686-29: what has ended stays as it ended, whatever comes afterwards', async () => {
  const { requestor } = await serving();
  const ended: Record<string, string> = {};
  for (const tool of ['throws', 'protocol_error_job', 'ask_name']) {
    const exchange = await requestor.start(tool, tool);
    if (tool === 'ask_name') {
      const question = await exchange.next('elicitation/create');
      await requestor.cancel(exchange.id);
      await requestor.until(tool, 'cancelled');
      await requestor.answer(question.id, yes);
    } else await exchange.reply;
    await requestor.cancel(exchange.id, tool);
    await requestor.begin(tool, 'nap', { ms: 1 }).reply;
    await requestor.result(tool);
    ended[tool] = (await requestor.get(tool)).result.status;
  }
  expect(ended).toEqual({ throws: 'completed', protocol_error_job: 'failed', ask_name: 'cancelled' });
});

test('S1686-66 S1686-38 S1686-40 S1686-46: a look gives the flat task, with how long it is kept and how often to look', async () => {
  const { requestor } = await serving();
  await requestor.start('one', 'nap', { ms: 60_000 }, { keepAlive: 30_000 });
  expect((await requestor.get('one')).result).toEqual({
    taskId: 'one',
    status: 'working',
    keepAlive: 30_000,
    pollFrequency: 1_000,
    _meta: related('one'),
  });
});

test('S1686-31 S1686-32 S1686-72: work that fails ends its task as failed, with a text that says why', async () => {
  const { requestor } = await serving();
  await requestor.begin('one', 'protocol_error_job').reply;
  expect((await requestor.get('one')).result).toMatchObject({
    status: 'failed',
    error: 'The job broke the protocol, as it always does.',
  });
});

test('S1686-32 S1686-73: an error result completes its task, and stands in the result alone', async () => {
  const { requestor } = await serving();
  await requestor.begin('one', 'failing_job').reply;
  const { result } = await requestor.get('one');
  expect(result).toMatchObject({ status: 'completed' });
  expect(result).not.toHaveProperty('error');
  expect((await requestor.result('one')).result).toMatchObject({
    isError: true,
    content: [{ text: 'The job failed, as it always does.' }],
  });
});

test('S1686-42 S1686-45 S1686-46: the result is what the request was answered with, as often as it is asked for', async () => {
  const { requestor } = await serving();
  const ledger = { file: '/dev/null', steps: 1, delayMs: 0 };
  const plain = await requestor.request('tools/call', { name: 'ledger', arguments: ledger });
  const reply = await requestor.begin('one', 'ledger', ledger).reply;
  const results = [await requestor.result('one'), await requestor.result('one')];
  for (const { result } of [reply, ...results])
    expect(result).toEqual({ ...plain.result, _meta: related('one') });
});

test('S1686-43 S1686-70: the result of a task that is not completed is refused at once, with its status', async () => {
  const { requestor } = await serving();
  await requestor.start('working', 'nap', { ms: 60_000 });
  await requestor.start('input_required', 'ask_name');
  await requestor.begin('failed', 'protocol_error_job').reply;
  const { id } = await requestor.start('cancelled', 'nap', { ms: 60_000 });
  await requestor.cancel(id);
  for (const status of ['working', 'input_required', 'failed', 'cancelled']) {
    await requestor.until(status, status);
    expect((await requestor.result(status)).error).toEqual({
      code: -32602,
      message: `Cannot retrieve result: Task status is '${status}', not 'completed'.`,
    });
  }
});

test('S1686-43: the result of a task that nobody has begun is refused as well', async () => {
  const { requestor } = await serving({ works: false });
  await requestor.start('one', 'big', { bytes: 1 });
  expect((await requestor.result('one')).error.message).toContain("'submitted'");
});

test('S1686-67 S1686-70: a name that nobody used is refused by every method, with a message that has it', async () => {
  const { requestor } = await serving();
  for (const look of [requestor.get('nobody'), requestor.result('nobody'), requestor.delete('nobody')])
    expect((await look).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('nobody'),
    });
});

test.each([
  ['missing', {}],
  ['a number', { taskId: 7 }],
  ['null', { taskId: null }],
  ['a list', { taskId: ['one'] }],
])('S1686-67: a taskId that is %s is refused', async (_, params) => {
  const { requestor } = await serving();
  await requestor.start('one', 'nap', { ms: 60_000 });
  for (const method of ['tasks/get', 'tasks/result', 'tasks/delete']) {
    const { error } = await requestor.request(method, { ...params, _meta: related('one') });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('"taskId"') });
  }
});

test('S1686-69: a store that cannot be read is an internal error, without a word of where it is', async () => {
  const { requestor, tasks } = await serving({ tokens: { secret: 'ada' } });
  await requestor.begin('one', 'big', { bytes: 1 }).reply;
  await tasks.close();
  const answers: Message[] = [
    await requestor.get('one'),
    await requestor.result('one'),
    await requestor.list(),
    await requestor.delete('one'),
    await requestor.begin('two', 'big', { bytes: 1 }).reply,
  ];
  for (const { error } of answers) {
    expect(error).toMatchObject({ code: -32603 });
    expect(JSON.stringify(error)).not.toMatch(/sqlite|memory:|\/tmp/i);
  }
});

test('S1686-96: progress comes under the token of the request with the name of the task, and ends with the answer', async () => {
  const { requestor, peer } = await serving();
  const heard = await unasked(peer);
  const call = { name: 'slow_compute', arguments: { seconds: 0.3 } };
  const exchange = requestor.augment('tools/call', call, { taskId: 'one' }, { progressToken: 'mine' });
  await exchange.reply;
  const progress = exchange.messages.filter(({ method }) => method === 'notifications/progress');
  expect(progress.length).toBeGreaterThan(1);
  for (const { params } of progress)
    expect(params).toMatchObject({ progressToken: 'mine', total: 3, _meta: related('one') });
  expect(exchange.messages.at(-1)).toHaveProperty('result');
  await requestor.get('one');
  expect(heard).toEqual([]);
});

test('S1686-96: a request whose connection is gone is told of no more progress, on no other stream either', async () => {
  const { requestor, peer } = await serving();
  const heard = await unasked(peer);
  const call = { name: 'slow_compute', arguments: { seconds: 0.3 } };
  const exchange = requestor.augment('tools/call', call, { taskId: 'one' }, { progressToken: 'mine' });
  await exchange.next('notifications/progress');
  exchange.drop();
  await requestor.until('one', 'completed');
  expect(heard).toEqual([]);
});

test('S1686-99: of subtasks, results on the way and pushes nothing is said', async () => {
  const { requestor, peer } = await serving({ tokens: { secret: 'ada' } });
  const heard = await unasked(peer);
  const exchange = await requestor.start('one', 'fan_out', { children: 3, depth: 2, delayMs: 100 });
  const known = ['taskId', 'status', 'keepAlive', 'pollFrequency', '_meta'];
  expect(Object.keys((await requestor.get('one')).result)).toEqual(known);
  await exchange.reply;
  expect(Object.keys((await requestor.get('one')).result)).toEqual(known);
  expect(exchange.messages).toHaveLength(2);
  expect(await requestor.listAll()).toHaveLength(1);
  expect(heard).toEqual([]);
});
