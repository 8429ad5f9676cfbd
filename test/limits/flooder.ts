/** A process that asks one server for ten times of everything that one owner may have, and counts what it is told. */
import { Agent, request } from 'node:http';
import { defaultLimits } from '../../src/task-methods/limits.ts';
import { Peer } from '../dialects/revision-2025-11-25/peer.ts';

export type Flooded = typeof told;

const times = 10;
const tickMs = 10;
/** A server that answers nobody any more is not asked for still more. */
const mostAtOnce = 1_000;

const [url = '', token = '', seconds = ''] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const peer = new Peer(url, { token });
await peer.open();
const taskId = await peer.start('nap', { ms: 1 });
await peer.until(taskId, 'completed');

const kinds = [
  [defaultLimits.callsPerMinute, 'tools/call', { name: 'nap', arguments: { ms: 1 }, task: {} }],
  [defaultLimits.readsPerMinute, 'tasks/get', { taskId }],
  [defaultLimits.resultsPerMinute, 'tasks/result', { taskId }],
  [defaultLimits.listsPerMinute, 'tasks/list', {}],
] as const;
const told = {
  sent: 0,
  served: 0,
  /** Refused for a limit, by its name. */
  limited: {} as Record<string, number>,
  others: {} as Record<string, number>,
};
let open = 0;

const startedAt = performance.now();
const due = kinds.map(() => 0);
const timer = setInterval(() => {
  const elapsed = performance.now() - startedAt;
  if (elapsed > Number(seconds) * 1_000) return finish();
  for (const [n, [perMinute, method, params]] of kinds.entries())
    for (; due[n]! < (elapsed / 60_000) * perMinute * times; due[n]!++)
      if (open < mostAtOnce) send(method, params);
}, tickMs);

function send(method: string, params: object): void {
  const body = JSON.stringify({ jsonrpc: '2.0', id: `flood ${++told.sent}`, method, params });
  open++;
  const over = (what: Record<string, number>, name: string) => {
    open--;
    what[name] = (what[name] ?? 0) + 1;
  };
  const headers = {
    ...peer.headers(),
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  request(url, { agent, method: 'POST', headers }, async (response) => {
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    const limit = /"limit":"(\w+)"/.exec(text)?.[1];
    if (response.statusCode! < 500 && limit !== undefined) return over(told.limited, limit);
    if (response.statusCode !== 200 || !text.includes('"result"'))
      return over(told.others, `${response.statusCode}`);
    open--;
    told.served++;
  })
    .on('error', ({ message }) => over(told.others, message))
    .end(body);
}

function finish(): void {
  clearInterval(timer);
  agent.destroy();
  process.send!(told);
  process.disconnect();
}
