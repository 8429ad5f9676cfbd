/**
 * Clients that know nothing of tasks: the SDK's client on 2026-07-28, the one before it on 2025-11-25, and on that too
 * the MCP client of Vercel's AI SDK.
 *
 * Over HTTP the last one asks for the stream that belongs to no request before it has a session, reports the refusal
 * that it must get (400, as for every request without a session), and goes on without that stream.
 */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict';
import { createMCPClient, ElicitationRequestSchema, type MCPClientConfig } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { test } from 'vitest';
import { stdioFixture } from './fixture.ts';
import { connectPlain } from './plain-client.ts';
import { fixtureUrl, says, spinning, testsOf } from './world.ts';

const modern = testsOf('a client without tasks', async () => connectPlain(await fixtureUrl()));

modern('a plain tool is answered', async (plain) => {
  says(await plain.call('greet', { name: 'Ada' }), 'Hello, Ada!');
});

modern('a durable tool is waited for, and progress comes meanwhile', async (plain) => {
  const progress: number[] = [];
  const onprogress = ({ progress: done }: { progress: number }) => progress.push(done);
  says(await plain.call('slow_compute', { seconds: 1 }, { onprogress }), 'done');
  ok(progress.length >= 4, `It came ${progress.length} times.`);
  deepEqual(
    progress,
    [...new Set(progress)].sort((a, b) => a - b),
  );
});

modern('a question comes as part of the call', async (plain) => {
  says(await plain.call('confirm_delete', { filename: 'notes.txt' }), 'deleted notes.txt');
  deepEqual(plain.asked, ['Delete notes.txt?']);
});

modern('the questions of subtasks come as part of the call', async (plain) => {
  const input = { children: 2, depth: 1, delayMs: 0, ask: true };
  says(await plain.call('fan_out', input), 'parent 1 2');
  deepEqual([...plain.asked].sort(), ['Go on with 1?', 'Go on with 2?']);
});

modern('a tool that needs them is refused, with the capability that is missing', async (plain) => {
  const data = { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } };
  await rejects(plain.call('failing_job'), { code: -32021, data });
});

modern('a call that is aborted ends the work', async (plain) => {
  const { input, stopped } = spinning();
  const abort = new AbortController();
  const called = plain.call('spin', input, { signal: abort.signal });
  // Work is begun in the order in which it came: the other is running when this is done.
  await plain.call('slow_compute', { seconds: 0.1 });
  abort.abort();
  await rejects(called);
  await stopped();
});

async function connectOlder(transport: OlderTransport | StdioClientTransport) {
  const client = new OlderClient({ name: 'holdfast-interop', version: '1.0.0' });
  // Its own class does not fit its own interface where optional properties are exact.
  await client.connect(transport as Parameters<OlderClient['connect']>[0]);
  if (transport instanceof OlderTransport) equal(transport.protocolVersion, '2025-11-25');
  return { client, [Symbol.asyncDispose]: () => client.close() };
}

const olderOverHttp = testsOf('a client of 2025-11-25 over HTTP', async () =>
  connectOlder(new OlderTransport(await fixtureUrl())),
);
const olderOverStdio = testsOf('a client of 2025-11-25 over stdio', () =>
  connectOlder(new StdioClientTransport(stdioFixture)),
);

for (const older of [olderOverHttp, olderOverStdio])
  older('plain and durable tools give ordinary results', async ({ client }) => {
    says(await client.callTool({ name: 'greet', arguments: { name: 'Ada' } }), 'Hello, Ada!');
    says(await client.callTool({ name: 'slow_compute', arguments: { seconds: 0.5 } }), 'done');
  });

const title = 'plain and durable tools give ordinary results, and questions come meanwhile';

/** Refused are the requests of this transport for a stream outside of any request. */
async function converse(transport: MCPClientConfig['transport'], refused: readonly number[]): Promise<void> {
  const asked: string[] = [];
  const refusals: unknown[] = [];
  const client = await createMCPClient({
    transport,
    capabilities: { elicitation: {} },
    onUncaughtError: (error) => refusals.push((error as { statusCode?: number }).statusCode),
  });
  client.onElicitationRequest(ElicitationRequestSchema, ({ params }) => {
    asked.push(params.message);
    return { action: 'accept', content: { confirm: true } };
  });
  const tools = await client.tools();
  // As a model would call it.
  const call = async (tool: string, input: object) =>
    (await tools[tool]!.execute(input, { toolCallId: 'call-1', messages: [] })) as object;
  says(await call('greet', { name: 'Ada' }), 'Hello, Ada!');
  says(await call('slow_compute', { seconds: 0.5, label: 'tides' }), 'done tides');
  says(await call('confirm_delete', { filename: 'notes.txt' }), 'deleted notes.txt');
  deepEqual(asked, ['Delete notes.txt?']);
  await rejects(call('failing_job', {}), { code: -32601 });
  deepEqual(refusals, refused);
  await client.close();
}

test.concurrent(`AI SDK over HTTP: ${title}`, async () =>
  converse({ type: 'http', url: (await fixtureUrl()).href }, [400]));
test.concurrent(`AI SDK over stdio: ${title}`, () => converse(new StdioTransport(stdioFixture), []));
