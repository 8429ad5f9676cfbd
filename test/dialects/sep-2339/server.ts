/** `node server.ts FILE`: a server with the draft on, whose tool writes down each time its work begins. */
import { appendFile } from 'node:fs/promises';
import { createTasks, type DurableTool, durableTool } from 'holdfast';
import { serveHttp } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import { z } from 'zod';
import { attached } from '../../kit/attached.ts';

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
console.log(`ready ${(await serveHttp(tasks, attached(tasks), { port: 0 })).url}`);
