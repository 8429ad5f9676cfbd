/**
 * `gateway-upstream.ts [--stdio]`: an SDK server without tasks. `add` is a minimal tool; each path /many/N has 25 tools
 * with unique names.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { readNodeBody, toWebRequest, whenClosed, writeResponse } from '../src/server/http/node.ts';

const pair = z.object({ a: z.number(), b: z.number() });

function adding(): McpServer {
  const mcp = new McpServer({ name: 'bench', version: '1.0.0' });
  mcp.registerTool('add', { inputSchema: pair }, ({ a, b }) => ({
    content: [{ type: 'text', text: String(a + b) }],
  }));
  return mcp;
}

function many(place: string): McpServer {
  const mcp = new McpServer({ name: `bench-${place}`, version: '1.0.0' });
  for (let n = 0; n < 25; n++)
    mcp.registerTool(
      `tool_${place}_${n}`,
      { description: 'One of many. '.repeat(10), inputSchema: pair },
      () => ({ content: [] }),
    );
  return mcp;
}

if (process.argv.includes('--stdio')) serveStdio(adding);
else {
  const add = createMcpHandler(adding);
  const server = createServer(async (req, res) => {
    const place = /^\/many\/(\d+)/.exec(req.url ?? '')?.[1];
    const handler = place === undefined ? add : createMcpHandler(() => many(place));
    const body =
      req.method === 'POST' ? JSON.parse((await readNodeBody(req, 1_000_000)).toString()) : undefined;
    const request = toWebRequest(req, whenClosed(res)());
    await writeResponse(res, await handler.fetch(request, { parsedBody: body }));
  });
  server.listen(0, '127.0.0.1', () => {
    console.log(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  });
}
