/** A server of 2025-11-25 on standard input and output that misbehaves as its first argument says. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { done, task, tasksOf2025, usual, type Wire } from './server.ts';

const [, , way, memory] = process.argv as [string, string, string, string];
const say = (message: unknown) => process.stdout.write(`${JSON.stringify(message)}\n`);
const lives = () => (existsSync(memory) ? readFileSync(memory, 'utf8').split('\n').length - 1 : 0);
appendFileSync(memory, 'life\n');

const answers = usual('2025-11-25', tasksOf2025);
const retention = { ttl: way === 'drivels' || way === 'dozes' ? 300 : null, ttlMs: undefined };

function answer(method: string): Wire | undefined {
  if (method === 'tools/call') return { task: task('root', 'working', retention) };
  if (method === 'tasks/result') return done;
  if (method !== 'tasks/get') return answers[method] ?? {};
  if (way === 'drivels') return undefined;
  // Dies of every look but those of its third life.
  if (way === 'dies' && lives() < 3) process.exit(1);
  return task('root', way === 'dozes' ? 'working' : 'completed', retention);
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line) as Wire;
  if (message.id === undefined || message.method === undefined) return;
  if (way === 'babbles') {
    process.stdout.write('Hello there!\n{"half":\n\n[]\nnull\n42\n');
    say({ jsonrpc: '2.0', id: 'hf-nobody', result: done });
    say({ jsonrpc: '2.0', method: 'notifications/tasks/status', params: { taskId: ['root'] } });
  }
  const result = answer(message.method);
  if (result === undefined) process.stdout.write('Hello there!\n{"half":\n');
  else say({ jsonrpc: '2.0', id: message.id, result });
});
