/**
 * The SDK's first generation in a process of its own: `URL start TOOL INPUT` starts a task and prints its id, `URL result
 * TASK-ID` prints the status of a task, the questions that it was asked until the task was over, and its result.
 */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { connectSdkClient, resultOf, type SdkClient, start } from './sdk-client.ts';

const acts = {
  start: (client: SdkClient, tool: string, input: string) => start(client, tool, JSON.parse(input)),
  async result(client: SdkClient, taskId: string) {
    const { status } = await client.tasks.getTask(taskId);
    const { content } = await resultOf(client, taskId);
    return JSON.stringify({ status, asked: client.asked.map(({ message }) => message), content });
  },
};

const [url, act, ...words] = process.argv.slice(2) as [string, keyof typeof acts, string, string];
try {
  await using client = await connectSdkClient(new StreamableHTTPClientTransport(new URL(url)));
  console.log(await acts[act](client, ...words));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
