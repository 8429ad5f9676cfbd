/**
 * The ext-tasks client with revision 2025-11-25, over HTTP and over stdio. It asks for a result when it has seen that
 * there is one, never before, so questions reach it only on the stream that belongs to no request. One about a task that
 * it has not heard of yet it answers itself, with "cancel": a question must not overtake the answer that names its task.
 *
 * Of a task that failed it keeps the status message alone, and never asks for the result, which every error result has:
 * neither its session nor its controller of a task can tell what the tool said.
 */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { join } from 'node:path';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { z } from 'zod';
import { until } from '../../chaos/until.ts';
import type { InteropCase } from '../case.ts';
import { linesOf } from '../file.ts';
import { fixtureArguments } from '../fixture.ts';
import { says } from '../says.ts';
import { spawnClient } from '../spawn-client.ts';
import { handOver } from '../tasks-client.ts';
import type { World } from '../world.ts';
import { connectOlderTasksClient, type OlderTasksClient, startTask } from './ext-tasks-client.ts';

interface TasksCase {
  readonly title: string;
  run(client: OlderTasksClient, world: World): Promise<void>;
}

async function resultOf(client: OlderTasksClient, tool: string, input = {}) {
  const { outcome } = await (await startTask(client, tool, input)).settle();
  return resultFromTaskOutcome(outcome);
}

const task: TasksCase = {
  title: 'a plain tool is answered at once, a durable one as a task',
  async run(client) {
    const greeting = await client.session.callTool(
      'greet',
      { name: 'Ada' },
      { task: { preference: 'prefer' } },
    );
    equal(greeting.kind, 'immediate');
    says(resultFromTaskOutcome((await greeting.settle()).outcome), 'Hello, Ada!');
    says(await resultOf(client, 'slow_compute', { seconds: 0.5, label: 'tides' }), 'done tides');
  },
};

const questions: TasksCase = {
  title: 'questions of a task come although nobody waits for its result, and are answered',
  async run(client) {
    const execution = await startTask(client, 'multi_input');
    const { outcome } = await execution.settle();
    const yes = { action: 'accept', content: { confirm: true } };
    says(resultFromTaskOutcome(outcome), JSON.stringify([yes, yes]));
    const { taskId } = execution.handle;
    deepEqual(client.asked, [
      ['Confirm first?', taskId],
      ['Confirm second?', taskId],
    ]);
    ok(client.sent.indexOf('tasks/result') > client.sent.lastIndexOf('answer'));
  },
};

const errorResult: TasksCase = {
  title: 'an error result is a failed task of which only the message is left; the server still has it',
  async run(client) {
    const execution = await startTask(client, 'failing_job');
    const { outcome } = await execution.settle();
    const { taskId } = execution.handle;
    const message = 'The job failed, as it always does.';
    for (const failed of [outcome, await client.session.task(taskId).result()]) {
      ok(failed.status === 'failed');
      deepEqual([failed.error.message, failed.error.code], [message, undefined]);
    }
    const request = { method: 'tasks/result', params: { taskId } };
    const payload = await client.client.request(request, z.looseObject({ isError: z.boolean() }));
    says(payload, message);
    equal(payload.isError, true);
  },
};

const cancellation: TasksCase = {
  title: 'a running task is cancelled, and its work stops',
  async run(client, world) {
    const file = join(await world.folder(), 'spun');
    const execution = await startTask(client, 'spin', { seconds: 600, file });
    // Work is begun in the order in which it came: the other is running when this is done.
    await resultOf(client, 'slow_compute', { seconds: 0.1 });
    await execution.cancel();
    equal((await execution.settle()).outcome.status, 'cancelled');
    await until(() => linesOf(file).includes('stopped'));
  },
};

const resumption: InteropCase = {
  title: 'ext-tasks of 2025-11-25 in a second process: a question that the first left open is answered',
  async run({ url }) {
    const { promise: never } = Promise.withResolvers<never>();
    await using client = await connectOlderTasksClient(new StreamableHTTPClientTransport(url), () => never);
    const execution = await startTask(client, 'ask_name');
    await until(() => client.asked.length === 1);
    const reference = JSON.stringify(await handOver(execution));
    await client[Symbol.asyncDispose]();
    const { line, gone } = spawnClient(program, url.href, '2025-11-25', 'resume', reference);
    await gone;
    says(JSON.parse(await line), 'Hello, Ada!');
  },
};

const program = join(import.meta.dirname, '../client-process.ts');

function over(
  transport: string,
  connect: (world: World) => Promise<OlderTasksClient>,
  cases: readonly TasksCase[],
) {
  return cases.map(
    ({ title, run }): InteropCase => ({
      title: `ext-tasks of 2025-11-25 over ${transport}: ${title}`,
      async run(world) {
        await using client = await connect(world);
        await run(client, world);
      },
    }),
  );
}

const http = ({ url }: World) => connectOlderTasksClient(new StreamableHTTPClientTransport(url));

const stdio = () =>
  connectOlderTasksClient(
    new StdioClientTransport({ command: process.execPath, args: fixtureArguments('--stdio') }),
  );

export const olderExtTasks: readonly InteropCase[] = [
  ...over('HTTP', http, [task, questions, errorResult, cancellation]),
  ...over('stdio', stdio, [task, questions, cancellation]),
  resumption,
];
