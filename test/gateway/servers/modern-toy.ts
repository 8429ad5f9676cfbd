/** A server of 2026-07-28 that logs and has no tasks, on stdio or, with `--port`, over HTTP. */
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { readNodeBody, toWebRequest, whenClosed, writeResponse } from '../../../src/server/http/node.ts';
import { listen } from '../../kit/port.ts';
import { said, sayInput } from './saying.ts';

const { values } = parseArgs({ options: { port: { type: 'string' } } });

const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] });

function toy(): McpServer {
  const server = new McpServer({ name: 'modern-toy', version: '1.0.0' }, { capabilities: { logging: {} } });
  server.registerTool('say', { inputSchema: z.object(sayInput) }, async (input, { mcpReq }) =>
    text(await said(input, ({ level, data, logger }) => mcpReq.log(level, data, logger))),
  );
  server.registerTool('level', {}, async ({ mcpReq }) =>
    text(String((mcpReq.envelope as Record<string, unknown>)['io.modelcontextprotocol/logLevel'])),
  );
  return server;
}

if (values.port === undefined) serveStdio(toy);
else {
  const handler = createMcpHandler(toy, { legacy: 'reject' });
  const http = createServer(async (req, res) => {
    const parsedBody = req.method === 'POST' ? JSON.parse(await readNodeBody(req, 1_000_000)) : undefined;
    await writeResponse(res, await handler.fetch(toWebRequest(req, whenClosed(res)()), { parsedBody }));
  });
  console.log(`ready http://127.0.0.1:${await listen(http, Number(values.port))}/mcp`);
}
