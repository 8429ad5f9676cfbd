/**
 * A host that calls a tool, answers what it asks, and can be killed at any moment: run it again, and it resumes.
 *
 *   npm run example examples/calling/calling.ts -- URL TOOL [JSON]
 *   npm run example examples/calling/calling.ts -- URL --resume
 *
 * With examples/server/server.ts: http://127.0.0.1:7420/mcp write_report '{"topic": "tides", "pages": 6}'
 */
import { Client } from '@modelcontextprotocol/client';
import { type Answer, connectTasks, type Question, type TaskClient } from 'holdfast/client';

const [url = 'http://127.0.0.1:7420/mcp', tool = 'index_folder', input = '{}'] = process.argv.slice(2);

async function connect(): Promise<TaskClient> {
  const client = new Client({ name: 'host', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  return connectTasks(client, url, {
    registry: process.env.HANDLES ?? 'sqlite:handles.db',
    answer: askPerson,
  });
}

async function callOnce(tasks: TaskClient): Promise<void> {
  const result = await tasks.callTool({ name: tool, arguments: JSON.parse(input) });
  console.log(JSON.stringify(result.content));
}

async function callAndWatch(tasks: TaskClient): Promise<void> {
  const handle = await tasks.call(tool, JSON.parse(input));
  console.log(`called ${handle.id}`);
  for await (const update of handle.updates()) {
    if (update.type === 'status') console.log(update.task.status);
    if (update.type === 'progress') console.log(`${update.progress} of ${update.total ?? '?'}`);
  }
  console.log(JSON.stringify((await handle.result()).content));
}

async function resume(tasks: TaskClient): Promise<void> {
  for (const handle of await tasks.resumeAll()) {
    const outcome = await handle.result().catch((error: Error) => error.message);
    console.log(`${handle.id}: ${JSON.stringify(outcome)}`);
  }
}

async function askPerson(question: Question): Promise<Answer> {
  if (question.kind !== 'form') return { action: 'decline' };
  console.log(`asked: ${question.message}`);
  return { action: 'accept', content: { name: 'Kelp', confirm: true, write: true, publish: true } };
}

await using tasks = await connect();
if (tool === '--resume') await resume(tasks);
else if (process.env.QUIET) await callOnce(tasks);
else await callAndWatch(tasks);
