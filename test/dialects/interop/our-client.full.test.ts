/** Our client with servers of others, and with our own in every dialect, all through the same code. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict';
import { join } from 'node:path';
import { StdioClientTransport, type StdioServerParameters } from '@modelcontextprotocol/client/stdio';
import { type ConnectTasksOptions, TaskCancelled } from 'holdfast/client';
import { test } from 'vitest';
import { everything, toyWith } from '../../gateway/stage.ts';
import { textOf } from '../../kit/text.ts';
import { connectOurClient, type OurClient } from './our-client.ts';
import { fixtureUrl, testsOf } from './world.ts';

const fastmcp = { command: process.execPath, args: [join(import.meta.dirname, 'servers/fastmcp.ts')] };

const connectTo = (server: StdioServerParameters, options?: ConnectTasksOptions) => () =>
  connectOurClient(() => new StdioClientTransport({ ...server, stderr: 'ignore' }), options);

/** Calls a tool, and gives the text of its result. */
async function said({ tasks }: OurClient, name: string, input = {}): Promise<string> {
  return textOf(await tasks.callTool({ name, arguments: input }));
}

const ofEverything = testsOf('our client', connectTo(everything));

ofEverything('a plain tool of server-everything', async (client) => {
  equal(await said(client, 'echo', { message: 'tides' }), 'Echo: tides');
});

ofEverything('a task of server-everything, with its status on the way', async ({ tasks }) => {
  const handle = await tasks.call('simulate-research-query', { topic: 'tides' });
  const messages: string[] = [];
  const reading = (async () => {
    for await (const update of handle.updates())
      if (update.type === 'status' && update.task.message) messages.push(update.task.message);
  })();
  match(textOf(await handle.result()), /Research Report: tides/);
  await reading;
  ok(handle.taskId);
  ok(messages.includes('Analyzing content...'), messages.join());
});

ofEverything('a question of a task of server-everything', async (client) => {
  const input = { topic: 'python', ambiguous: true };
  match(await said(client, 'simulate-research-query', input), /Clarification/);
  equal(client.asked.length, 1);
});

ofEverything('progress of a long operation of server-everything', async (client) => {
  const input = { duration: 1, steps: 4 };
  match(await said(client, 'trigger-long-running-operation', input), /completed/i);
});

const held = testsOf(
  'our client holds a task for server-everything',
  connectTo(everything, { hostedTasks: 'memory:' }),
);

held('an elicitation', async (client) => {
  const text = await said(client, 'trigger-elicitation-request-async');
  match(text, /\[COMPLETED\][\s\S]*Name: Ada/);
  equal(client.asked.length, 1);
});

held('an answer of its model', async (client) => {
  const text = await said(client, 'trigger-sampling-request-async', { prompt: 'How is the tide?' });
  match(text, /\[COMPLETED\][\s\S]*The tide is high/);
});

const file = '/dev/null';

const ofSdk = testsOf('our client', connectTo(toyWith('--tasks')));

ofSdk('a task in the store of SDK 1.x', async ({ tasks }) => {
  const handle = await tasks.call('work', { file, ms: 300 });
  equal(textOf(await handle.result()), 'worked');
  ok(handle.taskId);
});

ofSdk('a task of SDK 1.x that fails, and one that is cancelled', async ({ tasks }) => {
  const failed = await tasks.callTool({ name: 'work', arguments: { file, ms: 50, fails: true } });
  equal(failed.isError, true);
  const handle = await tasks.call('work', { file, ms: 60_000 });
  await handle.cancel();
  await rejects(handle.result(), TaskCancelled);
});

test.concurrent('our client: a server without tasks (fastmcp)', async () => {
  await using client = await connectTo(fastmcp, { drafts: 'all' })();
  const handle = await client.tasks.call('add', { a: 1, b: 2 });
  equal(textOf(await handle.result()), '3');
});

test.concurrent('our client: a server without tasks that fails (fastmcp)', async () => {
  await using client = await connectTo(fastmcp)();
  equal((await client.tasks.callTool({ name: 'throws' })).isError, true);
});

/** Our own server. */
const dialects: Readonly<Record<string, ConnectTasksOptions & { isModern?: boolean }>> = {
  '2026-07-28': { isModern: true },
  '2026-07-28 with subtasks': { isModern: true, drafts: ['sep-2268'] },
  '2025-11-25': {},
  'SEP-2229': { drafts: ['sep-2229'] },
  'SEP-2268': { drafts: ['sep-2268'] },
  'SEP-2339': { drafts: ['sep-2339'] },
  'all drafts': { drafts: 'all' },
  'SEP-1686': { dialect: 'sep-1686' },
};

for (const [dialect, options] of Object.entries(dialects))
  test.concurrent(`our client and our server: ${dialect}`, async () => {
    await using client = await connectOurClient(await fixtureUrl(), options);
    equal(await said(client, 'greet', { name: 'Ada' }), 'Hello, Ada!');
    equal(await said(client, 'slow_compute', { seconds: 0.3 }), 'done');
    equal(await said(client, 'ask_name'), 'Hello, Ada!');
    equal(await said(client, 'sample', { prompt: 'tide?' }), 'The tide is high.');
    deepEqual(
      client.asked.map(({ kind }) => kind),
      ['form', 'sampling'],
    );
    const fan = await client.tasks.call('fan_out', { children: 2, depth: 2, delayMs: 20 });
    equal(textOf(await fan.result()), 'parent (parent 1.1 1.2) (parent 2.1 2.2)');
    equal((await client.tasks.callTool({ name: 'failing_job' })).isError, true);
  });
