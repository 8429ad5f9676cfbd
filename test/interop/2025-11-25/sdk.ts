/**
 * The SDK's first generation with tasks, over HTTP and over stdio. Two things about it:
 *
 *   - its stream tells of a task that failed in its own words and drops the result, although 2025-11-25 counts every
 *     error result as a failure; `getTaskResult` still has what the tool said;
 *   - it puts the options of the call into every poll as well, so that each `tasks/get` asks for a task and for progress
 *     under a token of its own.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type JSONRPCMessage, ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { until } from '../../chaos/until.ts';
import type { InteropCase } from '../case.ts';
import { linesOf } from '../file.ts';
import { fixtureArguments } from '../fixture.ts';
import { says } from '../says.ts';
import type { World } from '../world.ts';
import { callTool, connectSdkClient, relatedTask, resultOf, type SdkClient, start } from './sdk-client.ts';

interface SdkCase {
  readonly title: string;
  run(client: SdkClient, world: World): Promise<void>;
}

const plainTool: SdkCase = {
  title: 'a plain tool is answered without a task',
  async run(client) {
    const { story, result } = await callTool(client, 'greet', { name: 'Ada' });
    deepEqual(story, ['result']);
    says(result!, 'Hello, Ada!');
  },
};

const task: SdkCase = {
  title: 'a task tells of its progress under the token of the call, and has a result',
  async run(client) {
    const progress: number[] = [];
    const { taskId, story, result } = await callTool(
      client,
      'slow_compute',
      { seconds: 0.5, label: 'tides' },
      { onprogress: ({ progress: done }) => progress.push(done) },
    );
    says(result!, 'done tides');
    deepEqual([story[0], story.at(-2), story.at(-1)], ['taskCreated', 'completed', 'result']);
    deepEqual(result!._meta, { [relatedTask]: { taskId } });
    deepEqual(progress, [1, 2, 3, 4, 5]);
    const tokens = new Set(paramsOf(client.received, 'notifications/progress', 'progressToken'));
    const [call] = paramsOf(client.sent, 'tools/call', '_meta') as { progressToken: number }[];
    deepEqual([...tokens], [call!.progressToken]);
  },
};

/** One param of every message with that method. */
function paramsOf(messages: readonly JSONRPCMessage[], method: string, name: string): unknown[] {
  return messages.flatMap((message) =>
    'method' in message && message.method === method ? [message.params?.[name]] : [],
  );
}

const oneQuestion: SdkCase = {
  title: 'a question of a task is answered',
  async run(client) {
    const { taskId, result } = await callTool(client, 'confirm_delete', { filename: 'notes.txt' });
    says(result!, 'deleted notes.txt');
    deepEqual(
      client.asked.map((question) => [question.message, question.taskId]),
      [['Delete notes.txt?', taskId]],
    );
  },
};

const twoQuestions: SdkCase = {
  title: 'two questions of a task are answered',
  async run(client) {
    const { result } = await callTool(client, 'multi_input');
    const answer = { action: 'accept', content: { confirm: true } };
    says(result!, JSON.stringify([answer, answer]));
    deepEqual(messages(client), ['Confirm first?', 'Confirm second?']);
  },
};

const subtasks: SdkCase = {
  title: 'the questions of subtasks are asked in the name of the task that the client knows',
  async run(client) {
    const input = { children: 2, depth: 2, delayMs: 0, ask: true };
    const { taskId, result } = await callTool(client, 'fan_out', input);
    says(result!, 'parent (parent 1.1 1.2) (parent 2.1 2.2)');
    deepEqual(messages(client), ['Go on with 1.1?', 'Go on with 1.2?', 'Go on with 2.1?', 'Go on with 2.2?']);
    deepEqual([...new Set(client.asked.map((question) => question.taskId))], [taskId]);
  },
};

function messages({ asked }: SdkClient): string[] {
  return asked.map(({ message }) => message).sort();
}

const sampling: SdkCase = {
  title: "a task asks the client's model",
  async run(client) {
    says((await callTool(client, 'sample', { prompt: 'What moves the sea?' })).result!, 'tides');
  },
};

const errorResult: SdkCase = {
  title: 'an error result is a failed task: the stream has no result, getTaskResult has',
  async run(client) {
    const { taskId, story, result, error } = await callTool(client, 'failing_job');
    deepEqual([story.at(-2), story.at(-1), result], ['failed', 'error', undefined]);
    match(error!.message, new RegExp(`Task ${taskId} failed$`));
    equal((await client.tasks.getTask(taskId!)).statusMessage, 'The job failed, as it always does.');
    const payload = await resultOf(client, taskId!);
    says(payload, 'The job failed, as it always does.');
    equal(payload.isError, true);
  },
};

const withoutTask: SdkCase = {
  title: 'a tool for tasks only is not called without one, by the client or by the server',
  async run({ client }) {
    await rejects(client.callTool({ name: 'failing_job' }), { code: -32600 });
    const request = { method: 'tools/call' as const, params: { name: 'failing_job' } };
    await rejects(client.request(request, ResultSchema), { code: -32601 });
    const plain = { method: 'tools/call' as const, params: { name: 'greet', arguments: { name: 'Ada' } } };
    await rejects(client.request(plain, ResultSchema, { task: {} }), { code: -32601 });
  },
};

const failure: SdkCase = {
  title: 'a task that breaks the protocol is failed, and getTaskResult has its error',
  async run(client) {
    const { taskId, story } = await callTool(client, 'protocol_error_job');
    deepEqual([story.at(-2), story.at(-1)], ['failed', 'error']);
    const message = 'MCP error -32603: The job broke the protocol, as it always does.';
    await rejects(resultOf(client, taskId!), { code: -32603, message });
  },
};

const cancellation: SdkCase = {
  title: 'a running task is cancelled once, and its work stops',
  async run(client, world) {
    const file = join(await world.folder(), 'spun');
    const created = Promise.withResolvers<string>();
    const spinning = callTool(client, 'spin', { seconds: 600, file }, { onTask: created.resolve });
    const taskId = await created.promise;
    // Work is begun in the order in which it came: the other is running when this is done.
    await resultOf(client, await start(client, 'slow_compute', { seconds: 0.1 }));
    const waiting = rejects(resultOf(client, taskId), { code: -32603 });
    equal((await client.tasks.cancelTask(taskId)).status, 'cancelled');
    await waiting;
    await until(() => linesOf(file).includes('stopped'));
    const { story, error } = await spinning;
    deepEqual([story.at(-2), story.at(-1)], ['cancelled', 'error']);
    match(error!.message, /was cancelled$/);
    await rejects(client.tasks.cancelTask(taskId), { code: -32602 });
  },
};

const list: SdkCase = {
  title: 'the tasks of an owner are listed page by page, each once',
  async run(client) {
    const made = await Promise.all(Array.from({ length: 60 }, () => start(client, 'big', { bytes: 1 })));
    const pages = [];
    let cursor: string | undefined;
    do {
      const page = await client.tasks.listTasks(cursor);
      pages.push(page.tasks.map(({ taskId }) => taskId));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    ok(pages.length > 1, `There were ${pages.length} pages.`);
    const listed = pages.flat();
    deepEqual([listed.length, new Set(listed).size], [made.length, made.length]);
    ok(made.every((taskId) => listed.includes(taskId)));
    await rejects(client.tasks.listTasks('elsewhere'), { code: -32602 });
  },
};

const noList: SdkCase = {
  title: 'callers that cannot be told apart are neither promised nor given a list',
  async run({ client, tasks }) {
    const { list, cancel } = client.getServerCapabilities()!.tasks!;
    deepEqual([list, cancel], [undefined, {}]);
    await rejects(tasks.listTasks(), { code: -32601 });
  },
};

function over(transport: string, open: (world: World) => Promise<object>, cases: readonly SdkCase[]) {
  return cases.map(
    ({ title, run }): InteropCase => ({
      title: `SDK 1 over ${transport}: ${title}`,
      async run(world) {
        await using client = await connectSdkClient(await open(world));
        await run(client, world);
      },
    }),
  );
}

const http = async ({ url }: World) => new StreamableHTTPClientTransport(url);

const httpWithToken = async (world: World) => {
  const { url, requestInit } = await world.guarded('ada');
  return new StreamableHTTPClientTransport(url, { requestInit });
};

const stdio = async () =>
  new StdioClientTransport({ command: process.execPath, args: fixtureArguments('--stdio') });

export const sdk: readonly InteropCase[] = [
  ...over('HTTP', http, [
    plainTool,
    task,
    oneQuestion,
    twoQuestions,
    subtasks,
    sampling,
    errorResult,
    withoutTask,
    failure,
    cancellation,
    noList,
  ]),
  ...over('HTTP with a token', httpWithToken, [list]),
  ...over('stdio', stdio, [task, oneQuestion, subtasks, sampling, errorResult, cancellation, list]),
];
