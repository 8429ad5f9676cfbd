/** The ext-tasks client on the SDK's client, revision 2026-07-28, over HTTP and over stdio. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { join } from 'node:path';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { until } from '../chaos/until.ts';
import type { InteropCase } from './case.ts';
import { linesOf } from './file.ts';
import { fixtureArguments } from './fixture.ts';
import { connectTasksClient, type TasksClient } from './tasks-client.ts';
import type { World } from './world.ts';

type Arguments = Parameters<TasksClient['session']['callTool']>[1];

interface TasksCase {
  readonly title: string;
  run(client: TasksClient, world: World): Promise<void>;
}

async function started({ session }: TasksClient, tool: string, input: Arguments = {}) {
  const execution = await session.callTool(tool, input);
  if (execution.kind !== 'task') throw new Error(`${tool} was answered without a task.`);
  return execution;
}

/** Calls a tool and drives its task to the end. */
async function outcomeOf(client: TasksClient, tool: string, input: Arguments = {}) {
  const { outcome } = await (await started(client, tool, input)).settle();
  return outcome;
}

async function textOf(client: TasksClient, tool: string, input: Arguments = {}): Promise<string> {
  const { content } = resultFromTaskOutcome(await outcomeOf(client, tool, input));
  const [block, ...more] = content as { type: string; text: string }[];
  deepEqual([block?.type, more], ['text', []]);
  return block!.text;
}

const plainTool: TasksCase = {
  title: 'a plain tool is answered at once',
  async run({ session }) {
    const execution = await session.callTool('greet', { name: 'Ada' });
    equal(execution.kind, 'immediate');
    const { outcome } = await execution.settle();
    deepEqual(resultFromTaskOutcome(outcome).content, [{ type: 'text', text: 'Hello, Ada!' }]);
  },
};

const task: TasksCase = {
  title: 'a task is polled until its result is there',
  async run(client) {
    equal(await textOf(client, 'slow_compute', { seconds: 0.5, label: 'tides' }), 'done tides');
    ok(client.sent.includes('tasks/get'));
  },
};

const oneQuestion: TasksCase = {
  title: 'a question of a task is answered',
  async run(client) {
    equal(await textOf(client, 'confirm_delete', { filename: 'notes.txt' }), 'deleted notes.txt');
    deepEqual([...client.asked], [['confirm', 'Delete notes.txt?']]);
  },
};

const twoQuestions: TasksCase = {
  title: 'two questions of a task are answered in one update',
  async run(client) {
    const yes = { action: 'accept', content: { confirm: true } };
    deepEqual(JSON.parse(await textOf(client, 'multi_input')), [yes, yes]);
    deepEqual([...client.asked.keys()], ['first', 'second']);
    equal(client.sent.filter((method) => method === 'tasks/update').length, 1);
  },
};

const questionBefore: TasksCase = {
  title: 'a question before there is a task is answered, and then there is one',
  async run(client) {
    equal(await textOf(client, 'test_tool_with_task'), 'Hello, Ada!');
    equal(client.sent.filter((method) => method === 'tools/call').length, 2);
    ok(!client.sent.includes('tasks/update'));
  },
};

const errorResult: TasksCase = {
  title: 'a task that ends with an error result is completed',
  async run(client) {
    const outcome = await outcomeOf(client, 'failing_job');
    equal(outcome.status, 'completed');
    equal(resultFromTaskOutcome(outcome).isError, true);
  },
};

const failure: TasksCase = {
  title: 'a task that breaks the protocol is failed, with its error',
  async run(client) {
    const outcome = await outcomeOf(client, 'protocol_error_job');
    ok(outcome.status === 'failed');
    equal(outcome.error.code, -32603);
    equal(outcome.error.message, 'The job broke the protocol, as it always does.');
  },
};

const cancellation: TasksCase = {
  title: 'a running task is cancelled, and its work stops',
  async run(client, world) {
    const file = join(await world.folder(), 'spun');
    const execution = await started(client, 'spin', { seconds: 600, file });
    await hasBegun(client);
    await execution.cancel();
    const { outcome } = await execution.settle();
    equal(outcome.status, 'cancelled');
    await until(() => linesOf(file).includes('stopped'));
  },
};

/** Work is begun in the order in which it came: what was called before is running when this is done. */
async function hasBegun(client: TasksClient): Promise<void> {
  await outcomeOf(client, 'slow_compute', { seconds: 0.1 });
}

const subtasks: TasksCase = {
  title: 'the questions of subtasks are asked by the task that the client knows',
  async run(client) {
    const input = { children: 2, depth: 2, delayMs: 0, ask: true };
    equal(await textOf(client, 'fan_out', input), 'parent (parent 1.1 1.2) (parent 2.1 2.2)');
    deepEqual([...client.asked.keys()].sort(), ['1.1/confirm', '1.2/confirm', '2.1/confirm', '2.2/confirm']);
    equal(client.asked.get('2.1/confirm'), 'Go on with 2.1?');
  },
};

const push: TasksCase = {
  title: 'whoever listens to a task hears of every status without asking',
  async run(client) {
    const execution = await started(client, 'confirm_delete', { filename: 'notes.txt' });
    await execution.detach();
    const { taskId } = execution.handle;
    const news = await client.listen(taskId);
    const asking = await news.of('input_required');
    equal(asking.taskId, taskId);
    ok(asking.status === 'input_required' && 'confirm' in asking.inputRequests);
    await client.session.task(taskId).update({ confirm: { action: 'decline' } });
    const end = await news.of('completed');
    ok(end.status === 'completed');
    deepEqual(end.result.content, [{ type: 'text', text: 'kept notes.txt' }]);
    ok(!client.sent.includes('tasks/get'));
    await news.close();
  },
};

const pushWhileDriving: TasksCase = {
  title: 'a task that is listened to moves on by what is pushed, between the polls',
  async run(client) {
    const execution = await started(client, 'slow_compute', { seconds: 1.5 });
    const news = await client.listen(execution.handle.taskId);
    let seen = 0;
    const { outcome } = await execution.settle({
      onEvent: ({ type }) => {
        if (type === 'task') seen++;
      },
    });
    equal(outcome.status, 'completed');
    const polls = client.sent.filter((method) => method === 'tasks/get').length;
    ok(seen > polls + 2, `${seen} states were seen with ${polls} polls.`);
    await news.close();
  },
};

function over(
  transport: string,
  connect: (world: World) => Promise<TasksClient>,
  cases: readonly TasksCase[],
) {
  return cases.map(
    ({ title, run }): InteropCase => ({
      title: `ext-tasks over ${transport}: ${title}`,
      async run(world) {
        await using client = await connect(world);
        await run(client, world);
      },
    }),
  );
}

const http = ({ url }: World) => connectTasksClient(new StreamableHTTPClientTransport(url));

const stdio = () =>
  connectTasksClient(
    new StdioClientTransport({ command: process.execPath, args: fixtureArguments('--stdio') }),
  );

export const extTasks: readonly InteropCase[] = [
  ...over('HTTP', http, [
    plainTool,
    task,
    oneQuestion,
    twoQuestions,
    questionBefore,
    errorResult,
    failure,
    cancellation,
    subtasks,
    push,
    pushWhileDriving,
  ]),
  ...over('stdio', stdio, [task, oneQuestion, cancellation, push]),
];
