// Calls the tool of server.ts, shows its progress, answers its question with yes, and prints the result. With the id of
// a task, it follows that task instead:
//   npm run example examples/server/client.ts [TASK]
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { url: { type: 'string', default: 'http://127.0.0.1:7420/mcp' } },
});

const revision = '2026-07-28';
const meta = {
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientInfo': { name: 'example', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {
    elicitation: {},
    extensions: { 'io.modelcontextprotocol/tasks': {} },
  },
};

// biome-ignore lint/suspicious/noExplicitAny: an example that reads what it prints.
async function request(method: string, params: Record<string, unknown>): Promise<any> {
  const response = await fetch(values.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'mcp-protocol-version': revision,
      'mcp-method': method,
      'mcp-name': String(params.name ?? params.taskId),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
  });
  const { result, error } = (await response.json()) as { result: unknown; error?: { message: string } };
  if (error) throw new Error(error.message);
  return result;
}

/** The server may be gone for a while. The task is not. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
async function look(taskId: string): Promise<any> {
  for (;;) {
    try {
      return await request('tasks/get', { taskId });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      await pause(500);
    }
  }
}

const args = { topic: 'tides', pages: 6 };
const taskId =
  positionals[0] ?? (await request('tools/call', { name: 'write_report', arguments: args })).taskId;
console.log(`task ${taskId}`);

for (let printed = ''; ; await pause(200)) {
  const task = await look(taskId);
  const progress = task._meta?.['dev.holdfast/progress']?.message;
  const line = `${task.status}${progress ? `: ${progress}` : ''}`;
  if (line !== printed) console.log(line);
  printed = line;
  if (task.status === 'input_required') {
    console.log(`answering: ${task.inputRequests.approval.params.message}`);
    const inputResponses = { approval: { action: 'accept', content: { publish: true } } };
    await request('tasks/update', { taskId, inputResponses });
  }
  if (task.result) {
    console.log(task.result.content[0].text);
    break;
  }
}
