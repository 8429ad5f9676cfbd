/** Our client with servers of others, and with our own in every dialect, all through the same code. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type ConnectTasksOptions, TaskCancelled } from 'holdfast/client';
import { everything } from '../gateway/stage.ts';
import { type Cases, casesOf, type InteropCase, textOf } from './case.ts';
import { connectOurClient, type OurClient } from './our-client.ts';

const commands = {
  'server-everything': everything,
  'SDK 1.x': script('sdk-1.ts'),
  fastmcp: script('fastmcp.ts'),
};

function script(name: string) {
  return { command: process.execPath, args: [join(import.meta.dirname, 'servers', name)] };
}

function connectTo(server: keyof typeof commands, options?: ConnectTasksOptions): Promise<OurClient> {
  return connectOurClient(() => new StdioClientTransport({ ...commands[server], stderr: 'ignore' }), options);
}

/** One call each. */
interface Call {
  readonly server: keyof typeof commands;
  readonly options?: ConnectTasksOptions;
  readonly name: string;
  readonly input?: Record<string, string | number | boolean>;
  readonly says: RegExp;
  readonly questions?: number;
  readonly isError?: boolean;
}

const hosts = { hosts: 'memory:' };
const calls: Readonly<Record<string, Call>> = {
  'our client: a plain tool of server-everything': {
    server: 'server-everything',
    name: 'echo',
    input: { message: 'tides' },
    says: /^Echo: tides$/,
  },
  'our client: a question of a task of server-everything': {
    server: 'server-everything',
    name: 'simulate-research-query',
    input: { topic: 'python', ambiguous: true },
    says: /Clarification/,
    questions: 1,
  },
  'our client: progress of a long operation of server-everything': {
    server: 'server-everything',
    name: 'trigger-long-running-operation',
    input: { duration: 1, steps: 4 },
    says: /completed/i,
  },
  'our client holds a task for server-everything: an elicitation': {
    server: 'server-everything',
    options: hosts,
    name: 'trigger-elicitation-request-async',
    says: /\[COMPLETED\][\s\S]*Name: Ada/,
    questions: 1,
  },
  'our client holds a task for server-everything: an answer of its model': {
    server: 'server-everything',
    options: hosts,
    name: 'trigger-sampling-request-async',
    input: { prompt: 'How is the tide?' },
    says: /\[COMPLETED\][\s\S]*The tide is high/,
  },
  'our client: a server without tasks that fails (fastmcp)': {
    server: 'fastmcp',
    name: 'throws',
    says: /./,
    isError: true,
  },
};

const single = Object.entries(calls).map(
  ([title, { server, options, name, input = {}, says, questions, isError }]): InteropCase => ({
    title,
    async run() {
      await using client = await connectTo(server, options);
      const result = await client.tasks.callTool({ name, arguments: input });
      match(textOf(result), says);
      equal(result.isError ?? false, isError ?? false);
      if (questions !== undefined) equal(client.asked.length, questions);
    },
  }),
);

const ofEverything: Cases<OurClient> = {
  async 'a task of server-everything, with its status on the way'({ tasks }) {
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
  },
};

const ofSdk: Cases<OurClient> = {
  async 'a task in the store of SDK 1.x'({ tasks }) {
    const handle = await tasks.call('work', { ms: 300 });
    equal(textOf(await handle.result()), 'worked');
    ok(handle.taskId);
  },
  async 'a task of SDK 1.x that fails, and one that is cancelled'({ tasks }) {
    const failed = await tasks.callTool({ name: 'work', arguments: { ms: 50, fails: true } });
    equal(failed.isError, true);
    const handle = await tasks.call('work', { ms: 60_000 });
    await handle.cancel();
    await rejects(handle.result(), TaskCancelled);
  },
};

const ofFastmcp: Cases<OurClient> = {
  async 'a server without tasks (fastmcp)'({ tasks }) {
    const handle = await tasks.call('add', { a: 1, b: 2 });
    equal(textOf(await handle.result()), '3');
  },
};

// --- Our own server, in every dialect -----------------------------------------------------------------------

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

const inDialects = Object.entries(dialects).map(
  ([name, options]): InteropCase => ({
    title: `our client and our server: ${name}`,
    async run(world) {
      await using client = await connectOurClient(await world.url, options);
      const call = async (tool: string, input = {}) =>
        textOf(await client.tasks.callTool({ name: tool, arguments: input }));
      equal(await call('greet', { name: 'Ada' }), 'Hello, Ada!');
      equal(await call('slow_compute', { seconds: 0.3 }), 'done');
      equal(await call('ask_name'), 'Hello, Ada!');
      equal(await call('sample', { prompt: 'tide?' }), 'The tide is high.');
      deepEqual(
        client.asked.map(({ kind }) => kind),
        ['form', 'sampling'],
      );
      const fan = await client.tasks.call('fan_out', { children: 2, depth: 2, delayMs: 20 });
      equal(textOf(await fan.result()), 'parent (parent 1.1 1.2) (parent 2.1 2.2)');
      equal((await client.tasks.callTool({ name: 'failing_job' })).isError, true);
    },
  }),
);

export const ourClient: readonly InteropCase[] = [
  ...single,
  ...casesOf('our client', () => connectTo('server-everything'), ofEverything),
  ...casesOf('our client', () => connectTo('SDK 1.x'), ofSdk),
  ...casesOf('our client', () => connectTo('fastmcp', { drafts: 'all' }), ofFastmcp),
  ...inDialects,
];
