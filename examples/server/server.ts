// An MCP server with a durable tool and an ordinary one. Start it, call it, kill it with -9, start it again.
//   npm run example examples/server/server.ts
//   npm run example examples/server/client.ts        (in a second terminal)
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks, durableTool } from 'holdfast';
import { serveHttp } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import { z } from 'zod';

const { values } = parseArgs({
  options: {
    db: { type: 'string', default: '.holdfast/server.db' },
    port: { type: 'string', default: '7420' },
  },
});

const report = durableTool(
  'write_report',
  {
    description: 'Writes a report, asks for approval, publishes it.',
    inputSchema: z.object({ topic: z.string(), pages: z.number() }),
  },
  async ({ topic, pages }, task) => {
    for (let page = 1; page <= pages; page++) {
      await task.step(`page ${page}`, () => pause(500));
      task.progress(page, pages, `Wrote page ${page}`);
    }
    const approval = await task.ask('approval', {
      message: `Publish ${pages} pages about ${topic}?`,
      schema: z.object({ publish: z.boolean() }),
    });
    if (approval.action !== 'accept' || !approval.content.publish) return 'Kept in the drawer.';
    return task.step('publish', () => `Published ${pages} pages about ${topic}.`);
  },
);

const tasks = createTasks({ store: sqlite(values.db), tools: [report] });
await tasks.work();

const server = await serveHttp(
  tasks,
  () => {
    const mcp = new McpServer({ name: 'reports', version: '1.0.0' });
    tasks.attach(mcp);
    mcp.registerTool('ping', { description: 'Answers at once.' }, () => ({
      content: [{ type: 'text', text: 'pong' }],
    }));
    return mcp;
  },
  { port: Number(values.port) },
);
console.log(`ready ${server.url}`);
