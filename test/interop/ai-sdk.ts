/**
 * The MCP client of Vercel's AI SDK: revision 2025-11-25 without tasks.
 *
 * Over HTTP it asks for the stream that belongs to no request before it has a session, reports the refusal that it must
 * get (400, as for every request without a session), and goes on without that stream.
 */
import { deepEqual, rejects } from 'node:assert/strict';
import { createMCPClient, ElicitationRequestSchema, type MCPClient, type MCPClientConfig } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import type { InteropCase } from './case.ts';
import { fixtureArguments } from './fixture.ts';
import { says } from './says.ts';
import type { World } from './world.ts';

type Transport = MCPClientConfig['transport'];

interface AiClient extends AsyncDisposable {
  readonly call: (tool: string, input: object) => Promise<object>;
  /** The messages of the questions that it was asked. */
  readonly asked: readonly string[];
  /** The HTTP status of each refusal that it complained of. */
  readonly refusals: readonly unknown[];
}

async function connect(transport: Transport): Promise<AiClient> {
  const asked: string[] = [];
  const refusals: unknown[] = [];
  const client: MCPClient = await createMCPClient({
    transport,
    capabilities: { elicitation: {} },
    onUncaughtError: (error) => refusals.push((error as { statusCode?: number }).statusCode),
  });
  client.onElicitationRequest(ElicitationRequestSchema, ({ params }) => {
    asked.push(params.message);
    return { action: 'accept', content: { confirm: true } };
  });
  const tools = await client.tools();
  return {
    // As a model would call it.
    call: async (tool, input) =>
      (await tools[tool]!.execute(input, { toolCallId: 'call-1', messages: [] })) as object,
    asked,
    refusals,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const transports: Record<string, (world: World) => Transport> = {
  HTTP: ({ url }) => ({ type: 'http', url: url.href }),
  stdio: () => new StdioTransport({ command: process.execPath, args: fixtureArguments('--stdio') }),
};

export const aiSdk: readonly InteropCase[] = Object.entries(transports).map(([name, open]) => ({
  title: `AI SDK over ${name}: plain and durable tools give ordinary results, and questions come meanwhile`,
  async run(world) {
    await using client = await connect(open(world));
    says(await client.call('greet', { name: 'Ada' }), 'Hello, Ada!');
    says(await client.call('slow_compute', { seconds: 0.5, label: 'tides' }), 'done tides');
    says(await client.call('confirm_delete', { filename: 'notes.txt' }), 'deleted notes.txt');
    deepEqual(client.asked, ['Delete notes.txt?']);
    await rejects(client.call('failing_job', {}), { code: -32601 });
    deepEqual(client.refusals, name === 'HTTP' ? [400] : []);
  },
}));
