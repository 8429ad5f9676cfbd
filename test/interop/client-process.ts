/**
 * A client that does one thing and is gone: `URL REVISION start TOOL INPUT` starts a task and prints the reference that
 * ext-tasks hands out, `URL REVISION resume REFERENCE` sees such a task through and prints its result.
 */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { resultFromTaskOutcome, type TaskEnabledSession } from '@modelcontextprotocol/ext-tasks/client';
import { connectOlderTasksClient } from './2025-11-25/ext-tasks-client.ts';
import { connectTasksClient, handOver } from './tasks-client.ts';

const revisions = { '2025-11-25': connectOlderTasksClient, '2026-07-28': connectTasksClient };

async function start(session: TaskEnabledSession, tool: string, input: string): Promise<void> {
  const execution = await session.callTool(tool, JSON.parse(input));
  if (execution.kind !== 'task') throw new Error(`${tool} was answered without a task.`);
  console.log(JSON.stringify(await handOver(execution)));
}

async function resume(session: TaskEnabledSession, reference: string): Promise<void> {
  const execution = await session.resumeTask(JSON.parse(reference));
  const { outcome } = await execution.settle();
  console.log(JSON.stringify(resultFromTaskOutcome(outcome)));
}

type Words = [url: string, revision: keyof typeof revisions, act: 'start' | 'resume', string, string];
const [url, revision, act, ...words] = process.argv.slice(2) as Words;
try {
  await using client = await revisions[revision](new StreamableHTTPClientTransport(new URL(url)));
  await { start, resume }[act](client.session, ...words);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
