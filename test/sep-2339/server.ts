/** `node server.ts FILE`: a server with the draft on, whose tool writes down each time its work begins. */
import { appendFile } from 'node:fs/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks, type DurableTool, durableTool } from 'holdfast';
import { serveHttp } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import { z } from 'zod';

const [file] = process.argv.slice(2) as [string];

const careful = durableTool(
  'careful',
  { task: 'always', inputSchema: z.object({ trace: z.string() }) },
  async ({ trace }, task) => {
    await task.step('start', () => appendFile(trace, 'started\n'));
    const answer = await task.ask('name', { message: 'Who?', schema: z.object({ name: z.string() }) });
    await task.step('go on', () => appendFile(trace, 'went on\n'));
    return answer.action === 'accept' ? `Hello, ${answer.content.name}!` : 'Nobody.';
  },
) as DurableTool;

const tasks = createTasks({ store: sqlite(file), tools: [careful], drafts: ['sep-2339'] });
await tasks.work();
const factory = () => {
  const mcp = new McpServer({ name: 'careful', version: '1.0.0' });
  tasks.attach(mcp);
  return mcp;
};
console.log(`ready ${(await serveHttp(tasks, factory, { port: 0 })).url}`);
