/**
 * The ext-tasks client on the SDK's client, over HTTP and over stdio, with 2026-07-28 and with 2025-11-25.
 *
 * With the older it asks for a result when it has seen that there is one, never before, so questions reach it only on
 * the stream that belongs to no request. One about a task that it has not heard of yet it answers itself, with "cancel":
 * a question must not overtake the answer that names its task. Of a task that failed it keeps the status message alone,
 * and never asks for the result, which every error result has: neither its session nor its controller of a task can tell
 * what the tool said.
 */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { join } from 'node:path';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { test } from 'vitest';
import { z } from 'zod';
import { linesOf } from '../../kit/text.ts';
import { until } from '../../kit/until.ts';
import { resumeElsewhere } from './client-process.ts';
import { stdioFixture } from './fixture.ts';
import { connectTasksClient, handOver, type Revision, type TasksClient } from './tasks-client.ts';
import { fixtureUrl, folder, lasting, says, spinning, testsOf } from './world.ts';

const connect = (url: URL, ...how: readonly [Revision, (() => Promise<never>)?]) =>
  connectTasksClient(new StreamableHTTPClientTransport(url), ...how);

const http = (revision: Revision) => async () => connect(await fixtureUrl(), revision);

const stdio = (revision: Revision) => () =>
  connectTasksClient(new StdioClientTransport(stdioFixture), revision);

type Arguments = Parameters<TasksClient['outcome']>;

async function resultOf(client: TasksClient, ...call: Arguments) {
  return resultFromTaskOutcome(await client.outcome(...call));
}

const yes = { action: 'accept', content: { confirm: true } };
const count = ({ sent }: TasksClient, method: string) => sent.filter((one) => one === method).length;

const laterOverHttp = testsOf('ext-tasks over HTTP', http('2026-07-28'));
const laterOverStdio = testsOf('ext-tasks over stdio', stdio('2026-07-28'));
const olderOverHttp = testsOf('ext-tasks of 2025-11-25 over HTTP', http('2025-11-25'));
const olderOverStdio = testsOf('ext-tasks of 2025-11-25 over stdio', stdio('2025-11-25'));

for (const inEach of [laterOverHttp, laterOverStdio, olderOverHttp, olderOverStdio])
  inEach('a running task is cancelled, and its work stops', async (client) => {
    const { input, stopped } = spinning();
    const execution = await client.start('spin', input);
    // Work is begun in the order in which it came: the other is running when this is done.
    await client.outcome('slow_compute', { seconds: 0.1 });
    await execution.cancel();
    equal((await execution.settle()).outcome.status, 'cancelled');
    await stopped();
  });

// --- 2026-07-28 -------------------------------------------------------------------------------------------

for (const later of [laterOverHttp, laterOverStdio]) {
  later('a task is polled until its result is there', async (client) => {
    says(await resultOf(client, 'slow_compute', { seconds: 0.5, label: 'tides' }), 'done tides');
    ok(client.sent.includes('tasks/get'));
  });

  later('a question of a task is answered', async (client) => {
    says(await resultOf(client, 'confirm_delete', { filename: 'notes.txt' }), 'deleted notes.txt');
    deepEqual(
      client.asked.map(({ key, message }) => [key, message]),
      [['confirm', 'Delete notes.txt?']],
    );
  });

  later('whoever listens to a task hears of every status without asking', async (client) => {
    const taskId = await client.detached('confirm_delete', { filename: 'notes.txt' });
    const news = await client.listen(taskId);
    const asking = await news.of('input_required');
    equal(asking.taskId, taskId);
    ok('confirm' in asking.inputRequests);
    await client.session.task(taskId).update({ confirm: { action: 'decline' } });
    says((await news.of('completed')).result, 'kept notes.txt');
    ok(!client.sent.includes('tasks/get'));
    await news.close();
  });
}

laterOverHttp('a plain tool is answered at once', async (client) => {
  const execution = await client.call('greet', { name: 'Ada' });
  equal(execution.kind, 'immediate');
  says(resultFromTaskOutcome((await execution.settle()).outcome), 'Hello, Ada!');
});

laterOverHttp('two questions of a task are answered in one update', async (client) => {
  says(await resultOf(client, 'multi_input'), JSON.stringify([yes, yes]));
  deepEqual(
    client.asked.map(({ key }) => key),
    ['first', 'second'],
  );
  equal(count(client, 'tasks/update'), 1);
});

laterOverHttp('a question before there is a task is answered, and then there is one', async (client) => {
  says(await resultOf(client, 'test_tool_with_task'), 'Hello, Ada!');
  equal(count(client, 'tools/call'), 2);
  ok(!client.sent.includes('tasks/update'));
});

laterOverHttp('a task that ends with an error result is completed', async (client) => {
  const outcome = await client.outcome('failing_job');
  equal(outcome.status, 'completed');
  equal((resultFromTaskOutcome(outcome) as { isError?: boolean }).isError, true);
});

laterOverHttp('a task that breaks the protocol is failed, with its error', async (client) => {
  const outcome = await client.outcome('protocol_error_job');
  ok(outcome.status === 'failed');
  equal(outcome.error.code, -32603);
  equal(outcome.error.message, 'The job broke the protocol, as it always does.');
});

laterOverHttp('the questions of subtasks are asked by the task that the client knows', async (client) => {
  const input = { children: 2, depth: 2, delayMs: 0, ask: true };
  says(await resultOf(client, 'fan_out', input), 'parent (parent 1.1 1.2) (parent 2.1 2.2)');
  const asked = new Map(client.asked.map(({ key, message }) => [key, message]));
  deepEqual([...asked.keys()].sort(), ['1.1/confirm', '1.2/confirm', '2.1/confirm', '2.2/confirm']);
  equal(asked.get('2.1/confirm'), 'Go on with 2.1?');
});

laterOverHttp('a task that is listened to moves on by what is pushed, between the polls', async (client) => {
  const execution = await client.start('slow_compute', { seconds: 1.5 });
  const news = await client.listen(execution.handle.taskId);
  let seen = 0;
  const { outcome } = await execution.settle({
    onEvent: ({ type }) => {
      if (type === 'task') seen++;
    },
  });
  equal(outcome.status, 'completed');
  const polls = count(client, 'tasks/get');
  ok(seen > polls + 2, `${seen} states were seen with ${polls} polls.`);
  await news.close();
});

// --- 2025-11-25 -------------------------------------------------------------------------------------------

for (const older of [olderOverHttp, olderOverStdio]) {
  older('a plain tool is answered at once, a durable one as a task', async (client) => {
    const greeting = await client.call('greet', { name: 'Ada' });
    equal(greeting.kind, 'immediate');
    says(resultFromTaskOutcome((await greeting.settle()).outcome), 'Hello, Ada!');
    says(await resultOf(client, 'slow_compute', { seconds: 0.5, label: 'tides' }), 'done tides');
  });

  older('questions of a task come although nobody waits for its result, and are answered', async (client) => {
    const execution = await client.start('multi_input');
    const { outcome } = await execution.settle();
    says(resultFromTaskOutcome(outcome), JSON.stringify([yes, yes]));
    const { taskId } = execution.handle;
    deepEqual(
      client.asked.map((one) => [one.message, one.taskId]),
      [
        ['Confirm first?', taskId],
        ['Confirm second?', taskId],
      ],
    );
    ok(client.sent.indexOf('tasks/result') > client.sent.lastIndexOf('answer'));
  });
}

olderOverHttp(
  'an error result is a failed task of which only the message is left; the server still has it',
  async (client) => {
    const execution = await client.start('failing_job');
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
);

// --- A task outlives the client that started it, and the server that it was started on -------------------

/** Starts a task whose client is gone afterwards, and gives the reference to it. */
async function startedBefore(url: URL, ...call: Arguments): Promise<string> {
  await using client = await connect(url, '2026-07-28');
  return handOver(await client.start(...call));
}

test.concurrent('ext-tasks in a second process: a running task is resumed by its reference', async () => {
  const url = await fixtureUrl();
  const reference = await startedBefore(url, 'slow_compute', { seconds: 1, label: 'tides' });
  says(await resumeElsewhere(url, '2026-07-28', reference), 'done tides');
});

test.concurrent('ext-tasks in a second process: a task goes on after its server was killed in the middle', async () => {
  await using server = await lasting();
  const [file, steps] = [join(folder(), 'ledger'), 20];
  const reference = await startedBefore(server.url, 'ledger', { file, steps, delayMs: 100 });
  await until(() => linesOf(file).length >= 2);
  await server.kill();
  const written = linesOf(file).length;
  ok(written < steps, 'The server was killed too late.');

  await server.start();
  const resumed = await resumeElsewhere(server.url, '2026-07-28', reference);
  says(resumed, `done ${steps}`);
  deepEqual(resumed.structuredContent, { steps, passes: 2 });
  const numbers = linesOf(file).map((line) => Number(line.split(' ')[0]));
  // The step that was under way is done again, and no other.
  const repeated = numbers.filter((number, index) => numbers.indexOf(number) < index);
  ok(repeated.length === 0 || repeated.join() === String(written), `Repeated: ${repeated}`);
  equal(new Set(numbers).size, steps);
});

test.concurrent('ext-tasks in a second process: a question that was asked before the server was killed is answered', async () => {
  await using server = await lasting();
  const reference = await startedBefore(server.url, 'confirm_delete', { filename: 'notes.txt' });
  const client = await connect(server.url, '2026-07-28');
  await (await client.listen(JSON.parse(reference).taskId)).of('input_required');
  await client[Symbol.asyncDispose]();
  await server.kill();
  await server.start();
  says(await resumeElsewhere(server.url, '2026-07-28', reference), 'deleted notes.txt');
});

test.concurrent('ext-tasks of 2025-11-25 in a second process: a question that the first left open is answered', async () => {
  const url = await fixtureUrl();
  const { promise: never } = Promise.withResolvers<never>();
  await using client = await connect(url, '2025-11-25', () => never);
  const execution = await client.start('ask_name');
  await until(() => client.asked.length === 1);
  const reference = await handOver(execution);
  await client[Symbol.asyncDispose]();
  says(await resumeElsewhere(url, '2025-11-25', reference), 'Hello, Ada!');
});
