/**
 * A client that does one thing and is gone: `URL KIND REFERENCE` sees a task through that another process has started,
 * and prints its result. The reference is what ext-tasks hands out; for the SDK's first generation it is the task's id.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Message } from '../../kit/wire.ts';
import { connectSdkClient } from './2025-11-25/sdk-client.ts';
import { connectTasksClient, type Revision } from './tasks-client.ts';

type Kind = Revision | 'SDK 1';

export async function resumeElsewhere(url: URL, kind: Kind, reference: string): Promise<Message> {
  const words = [import.meta.filename, url.href, kind, reference];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  return JSON.parse(stdout);
}

async function resume(url: URL, kind: Kind, reference: string): Promise<object> {
  if (kind === 'SDK 1') {
    await using client = await connectSdkClient(new OlderTransport(url));
    const { status } = await client.tasks.getTask(reference);
    const { content } = await client.result(reference);
    return { status, content, asked: client.asked.map(({ message }) => message) };
  }
  await using client = await connectTasksClient(new StreamableHTTPClientTransport(url), kind);
  const execution = await client.session.resumeTask(JSON.parse(reference));
  return resultFromTaskOutcome((await execution.settle()).outcome);
}

if (import.meta.main) {
  const [url, kind, reference] = process.argv.slice(2) as [string, Kind, string];
  console.log(JSON.stringify(await resume(new URL(url), kind, reference)));
}
