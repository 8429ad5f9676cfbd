/** `postgres-server.ts URL SCHEMA`: Holdfast over HTTP on Postgres, without a worker. */
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks } from '../src/index.ts';
import { openPostgres } from '../src/postgres.ts';
import { serveHttp } from '../src/server.ts';
import { nothing } from './postgres-worker.ts';
import { listensAt } from './server-process.ts';

const [url, schema] = process.argv.slice(2);

// Limits that are counted but never reached.
const generous = {
  callsPerMinute: 1e9,
  readsPerMinute: 1e9,
  liveTasksPerOwner: Number.POSITIVE_INFINITY,
  storedTasksPerOwner: Number.POSITIVE_INFINITY,
};

const tasks = createTasks({
  store: () => openPostgres(url!, { schema: schema! }),
  tools: [nothing],
  limits: generous,
});
const served = await serveHttp(
  tasks,
  () => {
    const mcp = new McpServer({ name: 'bench', version: '1.0.0' });
    tasks.attach(mcp);
    return mcp;
  },
  { port: 0 },
);
listensAt(Number(new URL(served.url).port), served.stop);
