import { createTasks, durableTool } from 'holdfast';
import { serveHttp } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import { z } from 'zod';
import { attached } from '../kit/attached.ts';

const greet = durableTool('greet', { task: 'always' }, async (_, task) => {
  const question = { message: 'What is your name?', schema: z.object({ name: z.string() }) };
  const answer = await task.ask('name', question, { asTask: true });
  return answer.action === 'accept' ? `Hello, ${answer.content.name}!` : `Nobody (${answer.action}).`;
});

const ponder = durableTool('ponder', { task: 'always' }, async (_, task) => {
  const messages = [{ role: 'user', content: { type: 'text', text: 'Why?' } }] as const;
  const asked = task.ask('why', { sampling: { messages, maxTokens: 10 } }, { asTask: true });
  const answer = await asked.catch((error: Error) => `No answer: ${error.name}`);
  return typeof answer === 'string' ? answer : JSON.stringify(answer.content);
});

export async function serveAsking({ store = 'memory:', port = 0 } = {}) {
  const tasks = createTasks({ store: sqlite(store), tools: [greet, ponder], drafts: 'all' });
  await tasks.work({ grace: '100ms' });
  const { url, stop } = await serveHttp(tasks, attached(tasks), { port, grace: '100ms', stopOn: [] });
  return { tasks, url, stop };
}

if (import.meta.main) {
  const [store, port] = process.argv.slice(2);
  console.log(`ready ${(await serveAsking({ store: store!, port: Number(port) })).url}`);
}
