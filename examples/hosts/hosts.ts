// The same handler under Node's http, Express and Hono. Each serves one call, and the example fails if one does not.
//   npm run example examples/hosts/hosts.ts
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { serve } from '@hono/node-server';
import { McpServer } from '@modelcontextprotocol/server';
import express from 'express';
import { createTasks, durableTool } from 'holdfast';
import { McpHandler } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import { Hono } from 'hono';
import { z } from 'zod';

const { values } = parseArgs({ options: { db: { type: 'string', default: '.holdfast/hosts.db' } } });

const hello = durableTool('hello', { inputSchema: z.object({ host: z.string() }) }, async ({ host }, task) =>
  task.step('greet', () => `Hello from ${host}.`),
);

await using tasks = createTasks({ store: sqlite(values.db), tools: [hello] });
await tasks.work();

const handler = new McpHandler(tasks, () => {
  const mcp = new McpServer({ name: 'anywhere', version: '1.0.0' });
  tasks.attach(mcp);
  return mcp;
});

const plain = createServer(handler.node);

const onExpress = express();
onExpress.all('/mcp', handler.node);

const onHono = new Hono();
onHono.all('/mcp', (context) => handler.fetch(context.req.raw));

for (const [host, start] of [
  ['node:http', (listening: () => void) => plain.listen(0, '127.0.0.1', listening)],
  ['Express', (listening: () => void) => onExpress.listen(0, '127.0.0.1', listening)],
  [
    'Hono',
    (listening: () => void) =>
      serve({ fetch: onHono.fetch, port: 0, hostname: '127.0.0.1' }, listening) as Server,
  ],
] as const) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const server = start(resolve);
  await promise;
  const text = await call(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, host);
  assert.equal(text, `Hello from ${host}.`);
  console.log(text);
  server.close();
  server.closeAllConnections();
}
await handler.close();

async function call(url: string, host: string): Promise<string> {
  const revision = '2026-07-28';
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'mcp-protocol-version': revision,
      'mcp-method': 'tools/call',
      'mcp-name': 'hello',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'hello',
        arguments: { host },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': revision,
          'io.modelcontextprotocol/clientInfo': { name: 'example', version: '1.0.0' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  });
  const { result } = (await response.json()) as { result: { content: { text: string }[] } };
  return result.content[0]!.text;
}
