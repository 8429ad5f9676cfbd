/** Our client with servers of others, and with our own in every dialect, all through the same code. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type ConnectTasksOptions, TaskCancelled } from 'holdfast/client';
import type { InteropCase } from './case.ts';
import { connectOurClient, type OurClient } from './our-client.ts';
import type { World } from './world.ts';

const require = createRequire(import.meta.url);

type Result = Record<string, unknown>;

function textOf({ content }: Result): string {
  return (content as { type: string; text?: string }[]).map(({ text = '' }) => text).join('\n');
}

// --- server-everything ------------------------------------------------------------------------------------

function everything(): () => StdioClientTransport {
  const main = require.resolve('@modelcontextprotocol/server-everything/dist/index.js');
  return () =>
    new StdioClientTransport({ command: process.execPath, args: [main, 'stdio'], stderr: 'ignore' });
}

const everythingCases: readonly InteropCase[] = [
  {
    title: 'our client: a plain tool of server-everything',
    async run() {
      await using client = await connectOurClient(everything());
      const result = await client.tasks.callTool({ name: 'echo', arguments: { message: 'tides' } });
      equal(textOf(result), 'Echo: tides');
    },
  },
  {
    title: 'our client: a task of server-everything, with its status on the way',
    async run() {
      await using client = await connectOurClient(everything());
      const handle = await client.tasks.call('simulate-research-query', { topic: 'tides' });
      const messages: string[] = [];
      const reading = (async () => {
        for await (const update of handle.updates())
          if (update.type === 'status' && update.task.message) messages.push(update.task.message);
      })();
      match(textOf(await handle.result()), /Research Report: tides/);
      await reading;
      ok(handle.taskId);
      ok(messages.includes('Analyzing content...'), messages.join());
    },
  },
  {
    title: 'our client: a question of a task of server-everything',
    async run() {
      await using client = await connectOurClient(everything());
      const result = await client.tasks.callTool({
        name: 'simulate-research-query',
        arguments: { topic: 'python', ambiguous: true },
      });
      equal(client.asked.length, 1);
      match(textOf(result), /Clarification/);
    },
  },
  {
    title: 'our client: progress of a long operation of server-everything',
    async run() {
      await using client = await connectOurClient(everything());
      const result = await client.tasks.callTool({
        name: 'trigger-long-running-operation',
        arguments: { duration: 1, steps: 4 },
      });
      match(textOf(result), /completed/i);
    },
  },
  {
    title: 'our client holds a task for server-everything: an elicitation',
    async run() {
      await using client = await connectOurClient(everything(), { hosts: 'memory:' });
      const result = await client.tasks.callTool({ name: 'trigger-elicitation-request-async' });
      match(textOf(result), /\[COMPLETED\][\s\S]*Name: Ada/);
      equal(client.asked.length, 1);
    },
  },
  {
    title: 'our client holds a task for server-everything: an answer of its model',
    async run() {
      await using client = await connectOurClient(everything(), { hosts: 'memory:' });
      const result = await client.tasks.callTool({
        name: 'trigger-sampling-request-async',
        arguments: { prompt: 'How is the tide?' },
      });
      match(textOf(result), /\[COMPLETED\][\s\S]*The tide is high/);
    },
  },
];

// --- Servers of the SDK's first generation, and without tasks -----------------------------------------------

function script(name: string): () => StdioClientTransport {
  const args = [join(import.meta.dirname, 'servers', name)];
  return () => new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' });
}

const otherCases: readonly InteropCase[] = [
  {
    title: 'our client: a task in the store of SDK 1.x',
    async run() {
      await using client = await connectOurClient(script('sdk-1.ts'));
      const handle = await client.tasks.call('work', { ms: 300 });
      equal(textOf(await handle.result()), 'worked');
      ok(handle.taskId);
    },
  },
  {
    title: 'our client: a task of SDK 1.x that fails, and one that is cancelled',
    async run() {
      await using client = await connectOurClient(script('sdk-1.ts'));
      const failed = await client.tasks.callTool({ name: 'work', arguments: { ms: 50, fails: true } });
      equal(failed.isError, true);
      const handle = await client.tasks.call('work', { ms: 60_000 });
      await handle.cancel();
      await rejects(handle.result(), TaskCancelled);
    },
  },
  {
    title: 'our client: a server without tasks (fastmcp)',
    async run() {
      await using client = await connectOurClient(script('fastmcp.ts'), { drafts: 'all' });
      const handle = await client.tasks.call('add', { a: 1, b: 2 });
      equal(textOf(await handle.result()), '3');
    },
  },
  {
    title: 'our client: a server without tasks that fails (fastmcp)',
    async run() {
      await using client = await connectOurClient(script('fastmcp.ts'));
      const result = await client.tasks.callTool({ name: 'throws' });
      equal(result.isError, true);
    },
  },
];

// --- Our own server, in every dialect -----------------------------------------------------------------------

const dialects: readonly (readonly [string, ConnectTasksOptions & { isModern?: boolean }])[] = [
  ['2026-07-28', { isModern: true }],
  ['2026-07-28 with subtasks', { isModern: true, drafts: ['sep-2268'] }],
  ['2025-11-25', {}],
  ['SEP-2229', { drafts: ['sep-2229'] }],
  ['SEP-2268', { drafts: ['sep-2268'] }],
  ['SEP-2339', { drafts: ['sep-2339'] }],
  ['all drafts', { drafts: 'all' }],
  ['SEP-1686', { dialect: 'sep-1686' }],
];

async function conversation({ tasks, asked }: OurClient): Promise<void> {
  equal(textOf(await tasks.callTool({ name: 'greet', arguments: { name: 'Ada' } })), 'Hello, Ada!');
  equal(textOf(await tasks.callTool({ name: 'slow_compute', arguments: { seconds: 0.3 } })), 'done');
  equal(textOf(await tasks.callTool({ name: 'ask_name' })), 'Hello, Ada!');
  equal(
    textOf(await tasks.callTool({ name: 'sample', arguments: { prompt: 'tide?' } })),
    'The tide is high.',
  );
  deepEqual(
    asked.map(({ kind }) => kind),
    ['form', 'sampling'],
  );
  const fan = await tasks.call('fan_out', { children: 2, depth: 2, delayMs: 20 });
  equal(textOf(await fan.result()), 'parent (parent 1.1 1.2) (parent 2.1 2.2)');
  const result = await tasks.callTool({ name: 'failing_job' });
  equal(result.isError, true);
}

const ownCases: readonly InteropCase[] = dialects.map(([name, options]) => ({
  title: `our client and our server: ${name}`,
  async run(world: World) {
    await using client = await connectOurClient(world.url, options);
    await conversation(client);
  },
}));

export const ourClient: readonly InteropCase[] = [...everythingCases, ...otherCases, ...ownCases];
