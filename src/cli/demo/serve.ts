/** The demo while it runs: an MCP server, a worker in the same process, and the dashboard to watch them on. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { join, relative } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { pagesOf } from '../../model/paging.ts';
import { dashboardPath } from '../../operator/api.ts';
import { serveHttp } from '../../server/http/serve.ts';
import { createTasks, type Tasks } from '../../server/tasks.ts';
import { sqlite } from '../../sqlite.ts';
import { anonymous } from '../../task-methods/caller.ts';
import { operatorToken, portWorded, sayStoreTrouble } from '../commands/serving.ts';
import { demoCall, version } from '../usage.ts';
import { writeSample } from './sample.ts';
import { demoTools } from './tools.ts';

/** Serves until the process is told to stop. Its tools may look into the folder `here`. */
export async function serveDemo(port: number, here: string, data: string): Promise<void> {
  const sample = join(data, 'sample');
  const tools = demoTools({ here, data, sample });
  const store = sqlite(join(data, 'demo.db'));
  const tasks = createTasks({ store, tools, audit: true, log: sayStoreTrouble });
  try {
    const found = await unfinished(tasks);
    await writeSample(sample);
    const { url, dashboard, stopped, stop } = await served(tasks, port);
    try {
      // Not before the port is ours: a second demo on the same store would begin to work, and end at once.
      await tasks.work();
      await beginFirstWork(tasks);
      greet(url, dashboard, relative(here, data) || '.', found);
      await stopped;
    } finally {
      await stop();
    }
  } catch (error) {
    await tasks.close().catch(() => {});
    throw portWorded(error as NodeJS.ErrnoException, port);
  }
  console.log('Stopped. What is not done goes on at the next start.');
}

async function served(tasks: Tasks, port: number) {
  const mcpServer = () => {
    const mcp = new McpServer({ name: 'holdfast-demo', version: version() });
    tasks.attach(mcp);
    return mcp;
  };
  const operator = operatorToken();
  const server = await serveHttp(tasks, mcpServer, { port, operator, elsewhere });
  return { ...server, dashboard: `${server.dashboard}${operator.fragment}` };
}

/** Whoever comes to the door is shown the dashboard, and there asked for the token. */
function elsewhere(req: IncomingMessage, res: ServerResponse): void {
  if (req.url === '/') res.writeHead(302, { location: dashboardPath }).end();
  else
    res
      .writeHead(404, { 'content-type': 'text/plain' })
      .end(`There is nothing here. MCP is at /mcp, the dashboard at ${dashboardPath}.\n`);
}

function greet(url: string, dashboard: string, data: string, found: number): void {
  console.log(`Holdfast demo: an MCP server with durable tools. Its tasks are in ${data}.`);
  if (found > 0) console.log(found === 1 ? '1 task goes on.' : `${found} tasks go on.`);
  console.log(`
  MCP server  ${url}
  dashboard   ${dashboard}
  process     ${process.pid}

Try this in a second terminal:

  ${demoCall(url, 'count', `'{"to": 30}'`)}
`);
}

/** One each: quick, step by step, with subtasks and a question at the end, one that fails, one that takes minutes. */
const calls: readonly (readonly [tool: string, input: object])[] = [
  ['count', { to: 5, everyMs: 100 }],
  ['run_tests', {}],
  ['report_on_folder', {}],
  ['run_tests', { folder: 'a-folder-that-is-not-here' }],
  ['count', { to: 600, everyMs: 1_000 }],
];

/** They are nobody's but the demo's own: callers neither see nor wait for them. */
const owner = 'demo';

/** Begins it, if nothing was ever done here. */
async function beginFirstWork(tasks: Tasks): Promise<void> {
  const { queries: survey } = await tasks.opened();
  const { count, isMore } = await survey.count({}, 1);
  if (count > 0 || isMore) return;
  for (const [tool, input] of calls) await tasks.create(tool, input, { owner });
}

/** How many calls of clients are not done yet. What the demo began of itself nobody waits for. */
async function unfinished(tasks: Tasks): Promise<number> {
  let count = 0;
  for await (const page of pagesOf((from) => tasks.list({ owner: anonymous, limit: 500, ...from })))
    count += page.tasks.filter(({ phase }) => phase !== 'done').length;
  return count;
}
