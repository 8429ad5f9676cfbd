/**
 * A client that does one thing and is gone: `URL start TOOL INPUT` starts a task and prints the reference that ext-tasks
 * hands out, `URL resume REFERENCE` sees such a task through and prints its result.
 */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { connectTasksClient, type TasksClient } from './tasks-client.ts';

async function start({ session }: TasksClient, tool: string, input: string): Promise<void> {
  const execution = await session.callTool(tool, JSON.parse(input));
  if (execution.kind !== 'task') throw new Error(`${tool} was answered without a task.`);
  await execution.handoff((reference) => console.log(JSON.stringify(reference)));
}

async function resume({ session }: TasksClient, reference: string): Promise<void> {
  const execution = await session.resumeTask(JSON.parse(reference));
  const { outcome } = await execution.settle();
  console.log(JSON.stringify(resultFromTaskOutcome(outcome)));
}

const [url, act, ...words] = process.argv.slice(2) as [string, 'start' | 'resume', string, string];
try {
  await using client = await connectTasksClient(new StreamableHTTPClientTransport(new URL(url)));
  await { start, resume }[act](client, ...words);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
