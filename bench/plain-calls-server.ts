/** `plain-calls-server.ts FILE hand-over|wait`: a tool that returns at once, and the mode for plain clients. */
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks, durableTool } from '../src/index.ts';
import { serveHttp, staticTokens } from '../src/server.ts';
import { openSqlite } from '../src/sqlite.ts';
import { toolName } from './server-peers.ts';
import { listensAt } from './server-process.ts';

const [file, plainClients] = process.argv.slice(2) as [string, 'hand-over' | 'wait'];

const tool = durableTool(toolName, {}, async () => 'done');
const tasks = createTasks({
  store: () => openSqlite(file),
  tools: [tool],
  limits: { callsPerMinute: 1e9 },
});
await tasks.work({ concurrency: 64 });
const { url, stop } = await serveHttp(
  tasks,
  () => {
    const mcp = new McpServer({ name: 'bench', version: '1.0.0' });
    tasks.attach(mcp, { plainClients });
    return mcp;
  },
  // With a token every call can be joined, which is the most expensive case.
  { port: 0, auth: staticTokens({ 'token-of-the-benchmark': { clientId: 'bench' } }) },
);
listensAt(Number(new URL(url).port), stop);
