/** Tasks that a client holds: what a server asks as a task, it comes back for. */
import { Client } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks, durableTool } from 'holdfast';
import { connectTasks, type Question } from 'holdfast/client';
import { serveHttp } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';

const greet = durableTool('greet', { task: 'always' }, async (_, task) => {
  const question = { message: 'What is your name?', schema: z.object({ name: z.string() }) };
  const answer = await task.ask('name', question, { asTask: true });
  return answer.action === 'accept' ? `Hello, ${answer.content.name}!` : `Nobody (${answer.action}).`;
});

async function serve() {
  const tasks = createTasks({ store: sqlite('memory:'), tools: [greet], drafts: 'all' });
  await tasks.work({ grace: '100ms' });
  const factory = () => {
    const mcp = new McpServer({ name: 'greeter', version: '1.0.0' });
    tasks.attach(mcp);
    return mcp;
  };
  const server = await serveHttp(tasks, factory, { port: 0, grace: '1s', stopOn: [] });
  onTestFinished(() => server.stop());
  return server;
}

test('a question is asked as a task of the client', async () => {
  const { url } = await serve();
  const asked: Question[] = [];
  const sent: string[] = [];
  const client = new Client({ name: 'host', version: '1.0.0' });
  const tasks = await connectTasks(client, url, {
    handles: 'memory:',
    hosts: 'memory:',
    pace: { floorMs: 10, ceilingMs: 100 },
    answers: ['form'],
    answer: async (question) => {
      asked.push(question);
      return { action: 'accept', content: { name: 'Kelp' } };
    },
  });
  onTestFinished(() => tasks.close());
  const transport = client.transport!;
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    if ('method' in message && 'id' in message) sent.push(message.method);
    onmessage?.(message, extra);
  };
  const result = await tasks.callTool({ name: 'greet' });
  expect(result.content).toEqual([{ type: 'text', text: 'Hello, Kelp!' }]);
  expect(asked).toHaveLength(1);
  expect(sent).toEqual(expect.arrayContaining(['elicitation/create', 'tasks/get', 'tasks/result']));
});
