/** A server of 2025-11-25 on standard input and output that misbehaves as its first argument says. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

type Wire = Record<string, unknown> & { id?: string; method?: string };

const [, , way, memory] = process.argv as [string, string, string, string];
const say = (message: unknown) => process.stdout.write(`${JSON.stringify(message)}\n`);
const lives = () => (existsSync(memory) ? readFileSync(memory, 'utf8').split('\n').length - 1 : 0);
appendFileSync(memory, 'life\n');

const shown = (status: string) => ({ taskId: 'root', status, createdAt: '2026-08-01T00:00:00Z', ttl: null });
const done = { content: [{ type: 'text', text: 'done' }] };

function answer({ method }: Wire): unknown {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
        serverInfo: { name: 'hostile', version: '1' },
      };
    case 'tools/list':
      return {
        tools: [{ name: 't', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }],
      };
    case 'tools/call':
      return { task: { ...shown('working'), ...((way === 'drivels' || way === 'dozes') && { ttl: 300 }) } };
    case 'tasks/get':
      if (way === 'drivels') return undefined;
      if (way === 'dozes') return { ...shown('working'), ttl: 300 };
      // Dies of every look but those of its third life.
      if (way === 'dies' && lives() < 3) process.exit(1);
      return shown('completed');
    case 'tasks/result':
      return done;
  }
  return {};
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line) as Wire;
  if (message.id === undefined || message.method === undefined) return;
  if (way === 'babbles') {
    process.stdout.write('Hello there!\n{"half":\n\n[]\nnull\n42\n');
    say({ jsonrpc: '2.0', id: 'hf-nobody', result: done });
    say({ jsonrpc: '2.0', method: 'notifications/tasks/status', params: { taskId: ['root'] } });
  }
  const result = answer(message);
  if (result === undefined) process.stdout.write('Hello there!\n{"half":\n');
  else say({ jsonrpc: '2.0', id: message.id, result });
});
