/** The demo: an MCP server, a worker and the dashboard in one process. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { join, relative } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { pagesOf } from '../../model/paging.ts';
import { dashboardPath } from '../../operator/api.ts';
import { serveHttp } from '../../server/http/serve.ts';
import { createTasks, type Tasks } from '../../server/tasks.ts';
import { sqlite } from '../../sqlite.ts';
import { anonymous } from '../../task-methods/caller.ts';
import { listenError, operatorToken, printStoreProblem } from '../commands/serving.ts';
import { demoCall, version } from '../usage.ts';
import { writeSample } from './sample.ts';
import { demoTools } from './tools.ts';

/** Serves until the process is stopped. The tools may read the folder `here`. */
export async function serveDemo(port: number, here: string, data: string): Promise<void> {
  const sample = join(data, 'sample');
  const tools = demoTools({ here, data, sample });
  const store = sqlite(join(data, 'demo.db'));
  const tasks = createTasks({ store, tools, audit: true, log: printStoreProblem });
  try {
    const found = await unfinished(tasks);
    await writeSample(sample);
    const { url, dashboard, stopped, stop } = await startServer(tasks, port);
    try {
      // Started after the port was opened: otherwise a second demo on the same store would claim tasks, and then exit
      // because the port is in use.
      await tasks.work();
      await createFirstTasks(tasks);
      printIntroduction(url, dashboard, relative(here, data) || '.', found);
      await stopped;
    } finally {
      await stop();
    }
  } catch (error) {
    await tasks.close().catch(() => {});
    throw listenError(error as NodeJS.ErrnoException, port);
  }
  console.log('Stopped. Unfinished tasks resume at the next start.');
}

async function startServer(tasks: Tasks, port: number) {
  const mcpServer = () => {
    const mcp = new McpServer({ name: 'holdfast-demo', version: version() });
    tasks.attach(mcp);
    return mcp;
  };
  const operator = operatorToken();
  const server = await serveHttp(tasks, mcpServer, { port, operator, elsewhere: redirectToDashboard });
  return { ...server, dashboard: `${server.dashboard}${operator.fragment}` };
}

/** Redirects the root to the dashboard, which asks for the token. */
function redirectToDashboard(req: IncomingMessage, res: ServerResponse): void {
  if (req.url === '/') res.writeHead(302, { location: dashboardPath }).end();
  else
    res
      .writeHead(404, { 'content-type': 'text/plain' })
      .end(`Not found. MCP is at /mcp, the dashboard at ${dashboardPath}.\n`);
}

function printIntroduction(url: string, dashboard: string, data: string, found: number): void {
  console.log(`Holdfast demo: an MCP server with durable tools. Tasks are stored in ${data}.`);
  if (found > 0) console.log(found === 1 ? '1 task resumes.' : `${found} tasks resume.`);
  console.log(`
  MCP server  ${url}
  dashboard   ${dashboard}
  process     ${process.pid}

Try this in a second terminal:

  ${demoCall(url, 'count', `'{"to": 30}'`)}
`);
}

/** One task of each kind: quick, step by step, with subtasks and a question at the end, failing, and slow. */
const calls: readonly (readonly [tool: string, input: object])[] = [
  ['count', { to: 5, everyMs: 100 }],
  ['run_tests', {}],
  ['report_on_folder', {}],
  ['run_tests', { folder: 'a-folder-that-is-not-here' }],
  ['count', { to: 600, everyMs: 1_000 }],
];

/** The first tasks belong to the demo itself, so that callers cannot see them. */
const owner = 'demo';

/** Creates the first tasks in an empty store. */
async function createFirstTasks(tasks: Tasks): Promise<void> {
  const { queries } = await tasks.opened();
  const { count, isMore } = await queries.count({}, 1);
  if (count > 0 || isMore) return;
  for (const [tool, input] of calls) await tasks.create(tool, input, { owner });
}

/** Counts the unfinished tasks of clients, without the demo's own. */
async function unfinished(tasks: Tasks): Promise<number> {
  let count = 0;
  for await (const page of pagesOf((from) => tasks.list({ owner: anonymous, limit: 500, ...from })))
    count += page.tasks.filter(({ phase }) => phase !== 'done').length;
  return count;
}
