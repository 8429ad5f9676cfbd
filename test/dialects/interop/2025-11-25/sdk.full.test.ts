/**
 * The SDK's first generation with tasks, over HTTP and over stdio. Three things about it:
 *
 *   - its stream tells of a task that failed in its own words and drops the result, although 2025-11-25 counts every
 *     error result as a failure; `getTaskResult` still has what the tool said;
 *   - it puts the options of the call into every poll as well, so that each `tasks/get` asks for a task and for progress
 *     under a token of its own;
 *   - it does not notice that the stream of a request has broken: the request stays open until its time-out (a minute,
 *     unless told otherwise). Whoever asks again is served.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type ElicitResult, type JSONRPCMessage, ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { test } from 'vitest';
import { until } from '../../../kit/until.ts';
import { resumeElsewhere } from '../client-process.ts';
import { stdioFixture } from '../fixture.ts';
import { fixtureUrl, guarded, lasting, says, spinning, testsOf } from '../world.ts';
import { connectSdkClient, type Question, relatedTask, type SdkClient } from './sdk-client.ts';

/** One param of every message with that method. */
function paramsOf(messages: readonly JSONRPCMessage[], method: string, name: string): unknown[] {
  return messages.flatMap((message) =>
    'method' in message && message.method === method ? [message.params?.[name]] : [],
  );
}

function messages({ asked }: SdkClient): string[] {
  return asked.map(({ message }) => message).sort();
}

const overHttp = testsOf('SDK 1 over HTTP', async () =>
  connectSdkClient(new StreamableHTTPClientTransport(await fixtureUrl())),
);
const withToken = testsOf('SDK 1 over HTTP with a token', async () => {
  const { url, requestInit } = await guarded('ada');
  return connectSdkClient(new StreamableHTTPClientTransport(url, { requestInit }));
});
const overStdio = testsOf('SDK 1 over stdio', () => connectSdkClient(new StdioClientTransport(stdioFixture)));

for (const over of [overHttp, overStdio]) {
  over('a task tells of its progress under the token of the call, and has a result', async (client) => {
    const progress: number[] = [];
    const { taskId, story, result } = await client.call(
      'slow_compute',
      { seconds: 0.5, label: 'tides' },
      { onprogress: ({ progress: done }) => progress.push(done) },
    );
    says(result, 'done tides');
    deepEqual([story[0], story.at(-2), story.at(-1)], ['taskCreated', 'completed', 'result']);
    deepEqual(result!._meta, { [relatedTask]: { taskId } });
    deepEqual(progress, [1, 2, 3, 4, 5]);
    const tokens = new Set(paramsOf(client.received, 'notifications/progress', 'progressToken'));
    const [call] = paramsOf(client.sent, 'tools/call', '_meta') as { progressToken: number }[];
    deepEqual([...tokens], [call!.progressToken]);
  });

  over('a question of a task is answered', async (client) => {
    const { taskId, result } = await client.call('confirm_delete', { filename: 'notes.txt' });
    says(result, 'deleted notes.txt');
    deepEqual(
      client.asked.map((question) => [question.message, question.taskId]),
      [['Delete notes.txt?', taskId]],
    );
  });

  over(
    'the questions of subtasks are asked in the name of the task that the client knows',
    async (client) => {
      const input = { children: 2, depth: 2, delayMs: 0, ask: true };
      const { taskId, result } = await client.call('fan_out', input);
      says(result, 'parent (parent 1.1 1.2) (parent 2.1 2.2)');
      deepEqual(messages(client), [
        'Go on with 1.1?',
        'Go on with 1.2?',
        'Go on with 2.1?',
        'Go on with 2.2?',
      ]);
      deepEqual([...new Set(client.asked.map((question) => question.taskId))], [taskId]);
    },
  );

  over("a task asks the client's model", async (client) => {
    says((await client.call('sample', { prompt: 'What moves the sea?' })).result, 'tides');
  });

  over('an error result is a failed task: the stream has no result, getTaskResult has', async (client) => {
    const { taskId, story, result, error } = await client.call('failing_job');
    deepEqual([story.at(-2), story.at(-1), result], ['failed', 'error', undefined]);
    match(error!.message, new RegExp(`Task ${taskId} failed$`));
    equal((await client.tasks.getTask(taskId!)).statusMessage, 'The job failed, as it always does.');
    const payload = await client.result(taskId!);
    says(payload, 'The job failed, as it always does.');
    equal(payload.isError, true);
  });

  over('a running task is cancelled once, and its work stops', async (client) => {
    const { input, stopped } = spinning();
    const created = Promise.withResolvers<string>();
    const called = client.call('spin', input, { onTask: created.resolve });
    const taskId = await created.promise;
    // Work is begun in the order in which it came: the other is running when this is done.
    await client.result(await client.start('slow_compute', { seconds: 0.1 }));
    const waiting = rejects(client.result(taskId), { code: -32603 });
    equal((await client.tasks.cancelTask(taskId)).status, 'cancelled');
    await waiting;
    await stopped();
    const { story, error } = await called;
    deepEqual([story.at(-2), story.at(-1)], ['cancelled', 'error']);
    match(error!.message, /was cancelled$/);
    await rejects(client.tasks.cancelTask(taskId), { code: -32602 });
  });
}

overHttp('a plain tool is answered without a task', async (client) => {
  const { story, result } = await client.call('greet', { name: 'Ada' });
  deepEqual(story, ['result']);
  says(result, 'Hello, Ada!');
});

overHttp('two questions of a task are answered', async (client) => {
  const { result } = await client.call('multi_input');
  const answer = { action: 'accept', content: { confirm: true } };
  says(result, JSON.stringify([answer, answer]));
  deepEqual(messages(client), ['Confirm first?', 'Confirm second?']);
});

overHttp(
  'a tool for tasks only is not called without one, by the client or by the server',
  async ({ client }) => {
    await rejects(client.callTool({ name: 'failing_job' }), { code: -32600 });
    const request = { method: 'tools/call' as const, params: { name: 'failing_job' } };
    await rejects(client.request(request, ResultSchema), { code: -32601 });
    const plain = { method: 'tools/call' as const, params: { name: 'greet', arguments: { name: 'Ada' } } };
    await rejects(client.request(plain, ResultSchema, { task: {} }), { code: -32601 });
  },
);

overHttp('a task that breaks the protocol is failed, and getTaskResult has its error', async (client) => {
  const { taskId, story } = await client.call('protocol_error_job');
  deepEqual([story.at(-2), story.at(-1)], ['failed', 'error']);
  const message = 'MCP error -32603: The job broke the protocol, as it always does.';
  await rejects(client.result(taskId!), { code: -32603, message });
});

overHttp(
  'callers that cannot be told apart are neither promised nor given a list',
  async ({ client, tasks }) => {
    const { list, cancel } = client.getServerCapabilities()!.tasks!;
    deepEqual([list, cancel], [undefined, {}]);
    await rejects(tasks.listTasks(), { code: -32601 });
  },
);

// Where there is one owner, or callers are told apart.
for (const listing of [withToken, overStdio])
  listing('the tasks of an owner are listed page by page, each once', async (client) => {
    const made = await Promise.all(Array.from({ length: 60 }, () => client.start('big', { bytes: 1 })));
    const pages = [await client.tasks.listTasks()];
    for (let cursor = pages[0]!.nextCursor; cursor !== undefined; cursor = pages.at(-1)!.nextCursor)
      pages.push(await client.tasks.listTasks(cursor));
    ok(pages.length > 1, `There were ${pages.length} pages.`);
    const listed = pages.flatMap((page) => page.tasks.map(({ taskId }) => taskId));
    deepEqual(listed.sort(), made.sort());
    await rejects(client.tasks.listTasks('elsewhere'), { code: -32602 });
  });

// --- Tasks outlive the client that started them, and the server: so does the session, under the same id ----

/** A person who answers when the case says so, to a client that keeps its session while the server is replaced. */
async function connectPatient(url: URL) {
  /** What the server has heard: the methods of requests, and `answer` for each answer. */
  const heard: string[] = [];
  const transport = new StreamableHTTPClientTransport(url, {
    // A restarted server takes longer than the two attempts that are made by default.
    reconnectionOptions: {
      initialReconnectionDelay: 100,
      maxReconnectionDelay: 100,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 200,
    },
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (typeof init?.body === 'string') heard.push(JSON.parse(init.body).method ?? 'answer');
      return response;
    },
  });
  const questions: (Question & { answer(answer: ElicitResult): void })[] = [];
  const client = await connectSdkClient(transport, (question) => {
    const { promise, resolve } = Promise.withResolvers<ElicitResult>();
    questions.push({ ...question, answer: resolve });
    return promise;
  });
  return { ...client, transport, questions, heard };
}

const yes: ElicitResult = { action: 'accept', content: { confirm: true } };

test.concurrent('SDK 1 in a second process: a task is looked at and waited for by its id', async () => {
  const url = await fixtureUrl();
  const client = await connectSdkClient(new StreamableHTTPClientTransport(url));
  const taskId = await client.start('slow_compute', { seconds: 1.5, label: 'tides' });
  await client[Symbol.asyncDispose]();
  const resumed = await resumeElsewhere(url, 'SDK 1', taskId);
  // Whether it is still running depends on how long a process takes to start.
  ok(['working', 'completed'].includes(resumed.status!), `It is ${resumed.status}.`);
  says(resumed, 'done tides');
});

test.concurrent('SDK 1 in a second process: a question that the first was asked is asked again, and answered', async () => {
  const url = await fixtureUrl();
  const first = await connectPatient(url);
  const taskId = await first.start('confirm_delete', { filename: 'notes.txt' });
  await until(() => first.questions.length === 1);
  await first[Symbol.asyncDispose]();
  const resumed = await resumeElsewhere(url, 'SDK 1', taskId);
  deepEqual(resumed.asked, ['Delete notes.txt?']);
  says(resumed, 'deleted notes.txt');
});

test.concurrent('SDK 1 over HTTP: a server killed under a blocked result is replaced, and asks its question once more', async () => {
  await using server = await lasting();
  await using client = await connectPatient(server.url);
  const { transport, questions, heard } = client;
  const { sessionId } = transport;
  const taskId = await client.start('confirm_delete', { filename: 'notes.txt' });
  const blocked = rejects(client.result(taskId, { timeout: 3_000 }), { code: -32001 });
  await until(() => questions.length === 1 && heard.includes('tasks/result'));

  await server.kill();
  await server.start();
  await blocked;
  const result = client.result(taskId);
  await until(() => questions.length === 2);
  questions[1]!.answer(yes);
  says(await result, 'deleted notes.txt');
  equal(questions.length, 2);
  deepEqual([...new Set(questions.map(({ message }) => message))], ['Delete notes.txt?']);
  equal(transport.sessionId, sessionId);
  equal(heard.filter((method) => method === 'initialize').length, 1);
});

test.concurrent('SDK 1 over HTTP: an answer to a question of a killed server is not taken for one to another question', async () => {
  await using server = await lasting();
  await using client = await connectPatient(server.url);
  const { questions, heard } = client;
  await client.start('confirm_delete', { filename: 'old.txt' });
  await until(() => questions.length === 1);
  const taskId = await client.start('confirm_delete', { filename: 'precious.txt' });
  await until(() => questions.length === 2);

  await server.kill();
  await server.start();
  const result = client.result(taskId);
  await until(() => questions.length === 3);
  deepEqual([questions[0]!.message, questions[2]!.message], ['Delete old.txt?', 'Delete precious.txt?']);
  questions[0]!.answer(yes);
  await until(() => heard.includes('answer'));
  questions[2]!.answer({ action: 'decline' });
  says(await result, 'kept precious.txt');
});
