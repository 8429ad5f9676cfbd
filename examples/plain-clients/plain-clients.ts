// A client that knows no tasks, and a tool that takes longer than clients wait: the call is handed over, and the client
// continues with plain tools. It has no model: it calls the tool that each answer names.
//   npm run example examples/plain-clients/plain-clients.ts
import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks, durableTool } from 'holdfast';
import { serveHttp } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import { z } from 'zod';

const { values } = parseArgs({ options: { db: { type: 'string', default: '.holdfast/plain-clients.db' } } });

const report = durableTool(
  'report',
  { inputSchema: z.object({ topic: z.string() }) },
  async ({ topic }, task) => {
    await task.sleep('2s');
    const answer = await task.ask('title', {
      message: 'What shall it be called?',
      schema: z.object({ title: z.string() }),
    });
    await task.sleep('1s');
    return `${answer.action === 'accept' ? answer.content.title : 'Untitled'}: all about ${topic}.`;
  },
);

const tasks = createTasks({ store: sqlite(values.db), tools: [report] });
await tasks.work();

const server = await serveHttp(
  tasks,
  () => {
    const mcp = new McpServer({ name: 'reports', version: '1.0.0' });
    tasks.attach(mcp, { plainClients: { window: '1s' } });
    return mcp;
  },
  { port: 0 },
);

const client = new Client({ name: 'plain', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));

const handedOver = 'dev.holdfast/handed-over';
let result = await client.callTool({ name: 'report', arguments: { topic: 'tides' } });
while (result._meta && handedOver in result._meta) {
  const { status, next } = result.structuredContent as {
    status: string;
    next: { tool: string; arguments: Record<string, unknown> };
  };
  console.log(`${status}: ${next.tool}`);
  const answers = { title: { action: 'accept', content: { title: 'Ebb and flow' } } };
  const input = status === 'input_required' ? { ...next.arguments, answers } : next.arguments;
  result = await client.callTool({ name: next.tool, arguments: input });
}
const [block] = result.content;
assert(block?.type === 'text');
assert.equal(block.text, 'Ebb and flow: all about tides.');
console.log(block.text);
await client.close();
await server.stop();
