/**
 * `server-sdk.ts`: the experimental tasks of SDK 1.x in memory, in their fastest setup: plain JSON answers, no message
 * queue, bodies parsed in advance, and a tool that stores its result before the task id is known.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { toolName } from './server-peers.ts';
import { listensAt } from './server-process.ts';

const taskStore = new InMemoryTaskStore();
const sessions = new Map<string, StreamableHTTPServerTransport>();

async function openSession(): Promise<StreamableHTTPServerTransport> {
  const mcp = new McpServer(
    { name: 'bench', version: '1.0.0' },
    { capabilities: { tasks: { requests: { tools: { call: {} } } } }, taskStore },
  );
  mcp.experimental.tasks.registerToolTask(
    toolName,
    {},
    {
      async createTask({ taskStore: tasks, taskRequestedTtl: ttl = null }) {
        const task = await tasks.createTask({ ttl });
        await tasks.storeTaskResult(task.taskId, 'completed', { content: [{ type: 'text', text: 'done' }] });
        return { task };
      },
      getTask: ({ taskId, taskStore: tasks }) => tasks.getTask(taskId),
      getTaskResult: async ({ taskId, taskStore: tasks }) => (await tasks.getTaskResult(taskId)) as never,
    },
  );
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await mcp.connect(transport as never);
  return transport;
}

const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', async () => {
    const transport = sessions.get(String(req.headers['mcp-session-id'])) ?? (await openSession());
    await transport.handleRequest(req, res, JSON.parse(Buffer.concat(chunks).toString()));
  });
});
server.listen(0, '127.0.0.1', () => listensAt((server.address() as AddressInfo).port, () => process.exit()));
