/** A server with given task details: the real files under their real policy, and states that are hard to reproduce. */
import { createServer } from 'node:http';
import type { TaskDetails } from '../../../src/operator/api.ts';
import { dashboardFile } from '../../../src/server/http/operator/dashboard-files.ts';
import { originOf } from '../../kit/serve.ts';
import { builtDashboard } from './built.ts';
import { present } from './examples.ts';

export type FixedServer = Awaited<ReturnType<typeof serveDetails>>;

export async function serveDetails(examples: readonly TaskDetails[]) {
  await builtDashboard();
  const server = createServer(async (req, res) => {
    const { pathname } = new URL(req.url!, 'http://localhost');
    const path = pathname.replace(/^\/operator\//, '');
    if (!path.startsWith('api/')) {
      const { status, headers, body } = await dashboardFile(path);
      res.writeHead(status, Object.fromEntries(headers));
      res.end(body && Buffer.from(await new Response(body).arrayBuffer()));
    } else if (path === 'api/changes') {
      const first = JSON.stringify({ type: 'changes', id: '1', tasks: [], subtasks: [], removed: [] });
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(`id: 1\nevent: changes\ndata: ${first}\n\n`);
    } else if (path === 'api/about') {
      res.end(JSON.stringify({ version: '0.1.0', now: present, tools: [], audit: true }));
    } else {
      const id = decodeURIComponent(path.split('/')[2] ?? '');
      // The request for this task is never answered.
      if (id === 'task-slow') return;
      const details = examples.find(({ task }) => task.id === id);
      res.writeHead(id === 'task-broken' ? 500 : details ? 200 : 404, { 'content-type': 'application/json' });
      res.end(JSON.stringify(details ?? { error: { message: 'The database is locked.' } }));
    }
  });
  const origin = await originOf(server);
  return {
    origin,
    pageOf: (id: string) => `${origin}/operator/?task=${encodeURIComponent(id)}#token=anybody&now=${present}`,
  };
}
