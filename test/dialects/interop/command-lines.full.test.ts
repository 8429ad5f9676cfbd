/**
 * Clients that are command lines: `mcpdo` of the Inspector and `mcpc` of Apify.
 *
 * `mcpc` knows no elicitation, and it stands on the SDK's first generation: a call that waits for its task drops the
 * result of a task that failed, although an error result is one; `tasks-result` prints it.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { test } from 'vitest';
import { connectMcpc, connectMcpdo, session } from './command-line.ts';
import { fixtureUrl, lasting, says, shared, testsOf } from './world.ts';

const ofMcpc = testsOf('mcpc', async () => connectMcpc(await fixtureUrl()));

ofMcpc('a call as a task prints its result; if that is an error, only tasks-result does', async (client) => {
  const call = (...words: string[]) => client.run(session, 'tools-call', ...words, '--task');
  const { code, answer } = await call('slow_compute', 'seconds:=0.5', 'label:=tides');
  equal(code, 0);
  says(answer, 'done tides');
  ok('_meta' in answer, 'It was no task.');
  const failed = await call('failing_job');
  equal(failed.code, 2);
  const [, taskId] = /Task (\w+) failed/.exec(failed.answer.error as string)!;
  const result = await client.run(session, 'tasks-result', taskId!);
  equal(result.answer.isError, true);
  says(result.answer, 'The job failed, as it always does.');
});

ofMcpc('a detached task is looked at, and cancelled, by later commands', async (client) => {
  const { answer } = await client.run(session, 'tools-call', 'nap', 'ms:=600000', '--detach');
  for (const [command, status] of [
    ['tasks-get', 'working'],
    ['tasks-cancel', 'cancelled'],
  ] as const)
    equal((await client.run(session, command, String(answer.taskId))).answer.status, status);
});

test.concurrent('mcpc: a detached task is fetched after its bridge and the server were killed, in the same session', async () => {
  await using server = await lasting();
  await using client = await connectMcpc(server.url);
  const called = [session, 'tools-call', 'slow_compute', 'seconds:=2', 'label:=tides', '--detach'];
  const { taskId } = (await client.run(...called)).answer;
  const { mcpSessionId } = client.background()!;
  match(mcpSessionId!, /^\w+$/);
  await client.endBackground('SIGKILL');
  await server.kill();
  await server.start();
  says((await client.run(session, 'tasks-result', String(taskId))).answer, 'done tides');
  equal(client.background()!.mcpSessionId, mcpSessionId);
});

/** One connection for these tests, which run one by one: every command on it prints what any call asks. */
const mcpdo = shared(async () => connectMcpdo(await fixtureUrl()));

test('mcpdo: a durable tool is called, and its result printed', async () => {
  const { run } = await mcpdo();
  const { code, answer } = await run('tools/call', 'slow_compute', 'seconds:=0.5', 'label:=tides');
  equal(code, 0);
  says(answer, 'done tides');
});

test('mcpdo: a tool for clients with tasks only is called, and its error result printed', async () => {
  const { run } = await mcpdo();
  const { code, answer } = await run('tools/call', 'failing_job');
  deepEqual([code, answer.isError], [5, true]);
});

test('mcpdo: a question of a task is printed, and answered by another command', async () => {
  const { run } = await mcpdo();
  const asked = await run('tools/call', 'ask_name');
  const pending = asked.answer.elicitationPending as Record<string, string>;
  equal(pending.origin, 'task-input-required');
  match(pending.message!, /What is your name/);
  const { answer } = await run('elicitation/respond', pending.elicitationId!, 'name:=Ada');
  says(answer, 'Hello, Ada!');
});
