/** `server-holdfast.ts FILE [--no-worker]`: Holdfast on a database file, served as an author would. */
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks, durableTool } from '../src/index.ts';
import { serveHttp } from '../src/server.ts';
import { openSqlite } from '../src/sqlite.ts';
import { toolName } from './server-peers.ts';
import { listensAt } from './server-process.ts';

const [file, noWorker] = process.argv.slice(2);

// Limits that are counted but never reached.
const generous = {
  callsPerMinute: 1e9,
  readsPerMinute: 1e9,
  pollsPerHint: 1e9,
  liveTasksPerOwner: Number.POSITIVE_INFINITY,
  storedTasksPerOwner: Number.POSITIVE_INFINITY,
  storedTasks: Number.POSITIVE_INFINITY,
};

const tool = durableTool(toolName, { task: 'always' }, async () => 'done');
const tasks = createTasks({ store: () => openSqlite(file!), tools: [tool], limits: generous });
// More slots than clients, so that every task runs at once. Stored tasks are not run.
if (noWorker === undefined) await tasks.work({ concurrency: 64 });
const { url, stop } = await serveHttp(
  tasks,
  () => {
    const mcp = new McpServer({ name: 'bench', version: '1.0.0' });
    tasks.attach(mcp);
    return mcp;
  },
  { port: 0 },
);
listensAt(Number(new URL(url).port), stop);
