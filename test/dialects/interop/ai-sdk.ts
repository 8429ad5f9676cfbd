/**
 * The MCP client of Vercel's AI SDK: revision 2025-11-25 without tasks.
 *
 * Over HTTP it asks for the stream that belongs to no request before it has a session, reports the refusal that it must
 * get (400, as for every request without a session), and goes on without that stream.
 */
import { deepEqual, rejects } from 'node:assert/strict';
import { createMCPClient, ElicitationRequestSchema, type MCPClientConfig } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { type InteropCases, says } from './case.ts';
import { stdioFixture } from './fixture.ts';
import type { World } from './world.ts';

const title = 'plain and durable tools give ordinary results, and questions come meanwhile';

/** Refused are the requests of this transport for a stream outside of any request. */
const converse =
  (open: (world: World) => Promise<MCPClientConfig['transport']>, refused: readonly number[]) =>
  async (world: World) => {
    const asked: string[] = [];
    const refusals: unknown[] = [];
    const client = await createMCPClient({
      transport: await open(world),
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
  };

export const aiSdk: InteropCases = {
  [`AI SDK over HTTP: ${title}`]: converse(
    async ({ url }) => ({ type: 'http', url: (await url).href }),
    [400],
  ),
  [`AI SDK over stdio: ${title}`]: converse(async () => new StdioTransport(stdioFixture), []),
};
