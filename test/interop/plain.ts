/** Clients that know nothing of tasks: the SDK's client on 2026-07-28, and the one before it on 2025-11-25. */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict';
import { join } from 'node:path';
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { until } from '../chaos/until.ts';
import type { InteropCase } from './case.ts';
import { linesOf } from './file.ts';
import { fixtureArguments } from './fixture.ts';
import { says } from './says.ts';
import type { World } from './world.ts';

const clientInfo = { name: 'holdfast-interop', version: '1.0.0' };

interface PlainClient extends AsyncDisposable {
  readonly client: Client;
  /** The messages of the questions that it was asked. */
  readonly asked: readonly string[];
}

async function connect({ url }: World): Promise<PlainClient> {
  const client = new Client(clientInfo, {
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode: 'auto' },
  });
  const asked: string[] = [];
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked.push(params.message);
    return { action: 'accept', content: { confirm: true } };
  });
  await client.connect(new StreamableHTTPClientTransport(url));
  equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
  return { client, asked, [Symbol.asyncDispose]: () => client.close() };
}

const modern: readonly InteropCase[] = [
  {
    title: 'a client without tasks: a plain tool is answered',
    async run(world) {
      await using plain = await connect(world);
      says(await plain.client.callTool({ name: 'greet', arguments: { name: 'Ada' } }), 'Hello, Ada!');
    },
  },
  {
    title: 'a client without tasks: a durable tool is waited for, and progress comes meanwhile',
    async run(world) {
      await using plain = await connect(world);
      const progress: number[] = [];
      const result = await plain.client.callTool(
        { name: 'slow_compute', arguments: { seconds: 1 } },
        { onprogress: ({ progress: done }) => progress.push(done) },
      );
      says(result, 'done');
      ok(progress.length >= 4, `It came ${progress.length} times.`);
      deepEqual(
        progress,
        [...new Set(progress)].sort((a, b) => a - b),
      );
    },
  },
  {
    title: 'a client without tasks: a question comes as part of the call',
    async run(world) {
      await using plain = await connect(world);
      const result = await plain.client.callTool({
        name: 'confirm_delete',
        arguments: { filename: 'notes.txt' },
      });
      says(result, 'deleted notes.txt');
      deepEqual(plain.asked, ['Delete notes.txt?']);
    },
  },
  {
    title: 'a client without tasks: the questions of subtasks come as part of the call',
    async run(world) {
      await using plain = await connect(world);
      const input = { children: 2, depth: 1, delayMs: 0, ask: true };
      says(await plain.client.callTool({ name: 'fan_out', arguments: input }), 'parent 1 2');
      deepEqual([...plain.asked].sort(), ['Go on with 1?', 'Go on with 2?']);
    },
  },
  {
    title: 'a client without tasks: a tool that needs them is refused, with the capability that is missing',
    async run(world) {
      await using plain = await connect(world);
      const data = { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } };
      await rejects(plain.client.callTool({ name: 'failing_job' }), { code: -32021, data });
    },
  },
  {
    title: 'a client without tasks: a call that is aborted ends the work',
    async run(world) {
      await using plain = await connect(world);
      const file = join(await world.folder(), 'spun');
      const abort = new AbortController();
      const spinning = plain.client.callTool(
        { name: 'spin', arguments: { seconds: 600, file } },
        { signal: abort.signal },
      );
      // Work is begun in the order in which it came: the other is running when this is done.
      await plain.client.callTool({ name: 'slow_compute', arguments: { seconds: 0.1 } });
      abort.abort();
      await rejects(spinning);
      await until(() => linesOf(file).includes('stopped'));
    },
  },
];

async function connectOlder(
  transport: OlderTransport | StdioClientTransport,
): Promise<AsyncDisposable & { readonly client: OlderClient }> {
  const client = new OlderClient(clientInfo);
  // Its own class does not fit its own interface where optional properties are exact.
  await client.connect(transport as Parameters<OlderClient['connect']>[0]);
  return { client, [Symbol.asyncDispose]: () => client.close() };
}

const transports = {
  HTTP: ({ url }: World) => new OlderTransport(url),
  stdio: () => new StdioClientTransport({ command: process.execPath, args: fixtureArguments('--stdio') }),
};

const older = Object.entries(transports).map(
  ([name, open]): InteropCase => ({
    title: `a client of 2025-11-25 over ${name}: plain and durable tools give ordinary results`,
    async run(world) {
      const transport = open(world);
      await using older = await connectOlder(transport);
      const call = async (name: string, input: Record<string, unknown>) =>
        (await older.client.callTool({ name, arguments: input })) as CallToolResult;
      says(await call('greet', { name: 'Ada' }), 'Hello, Ada!');
      says(await call('slow_compute', { seconds: 0.5 }), 'done');
      if (transport instanceof OlderTransport) equal(transport.protocolVersion, '2025-11-25');
    },
  }),
);

export const plain: readonly InteropCase[] = [...modern, ...older];
