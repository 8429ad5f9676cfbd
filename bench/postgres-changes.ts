/** The delay of changes between replicas, from the command to a subscriber of another one, at 200 changes a second. */
import { setTimeout as pause } from 'node:timers/promises';
import { readEvents } from '../src/dialects/event-stream.ts';
import { createTasks } from '../src/index.ts';
import { openPostgres } from '../src/postgres.ts';
import { anonymous } from '../src/task-methods/caller.ts';
import type { PostgresServer } from '../test/postgres/server.ts';
import { monotonicMs } from './measure.ts';
import { nothing } from './postgres-worker.ts';
import type { Target } from './report.ts';
import { ServerProcess } from './server-process.ts';

const everyMs = 5;
const tries = 3;

export async function measureChangeDelay(postgres: PostgresServer, changes: number): Promise<Target> {
  const url = await postgres.createDatabase();
  const schema = 'holdfast';
  const here = createTasks({ store: await openPostgres(url, { schema }), tools: [nothing] });
  const there = await ServerProcess.start('postgres-server.ts', url, schema);
  try {
    const p99s: number[] = [];
    for (let n = 0; n < tries; n++) {
      const created = Array.from({ length: changes }, () => here.create(nothing, {}, { owner: anonymous }));
      const ids = (await Promise.all(created)).map(({ id }) => id);
      p99s.push(await p99OfOneTry(ids, there, (id) => here.cancel(id)));
    }
    return {
      what: `a change at another replica, from the command to the subscriber, at 200 changes/s (p99 of ${changes}, best of ${tries})`,
      measured: Math.min(...p99s),
      unit: 'ms',
      atMost: 100,
    };
  } finally {
    await there.stop();
    await here.close();
  }
}

async function p99OfOneTry(
  ids: readonly string[],
  there: ServerProcess,
  change: (id: string) => Promise<unknown>,
): Promise<number> {
  const abort = new AbortController();
  const received = new Map<string, number>();
  const working = new Set<string>();
  const allWorking = Promise.withResolvers<void>();
  const allReceived = Promise.withResolvers<void>();
  const listening = listen(there, ids, abort.signal, ({ taskId, status }) => {
    if (status === 'working' && working.add(taskId).size === ids.length) allWorking.resolve();
    if (status !== 'cancelled') return;
    received.set(taskId, monotonicMs());
    if (received.size === ids.length) allReceived.resolve();
  });
  await Promise.race([allWorking.promise, listening]);
  const sent = new Map<string, number>();
  const started = performance.now();
  const commands: Promise<unknown>[] = [];
  for (const [index, id] of ids.entries()) {
    await pause(Math.max(0, started + index * everyMs - performance.now()));
    sent.set(id, monotonicMs());
    commands.push(change(id));
  }
  await Promise.all(commands);
  await Promise.race([allReceived.promise, listening]);
  abort.abort();
  await listening.catch(() => {});
  const samples = ids.map((id) => received.get(id)! - sent.get(id)!).sort((a, b) => a - b);
  return samples[Math.floor(samples.length * 0.99)]!;
}

interface TaskChange {
  readonly taskId: string;
  readonly status: string;
}

async function listen(
  server: ServerProcess,
  taskIds: readonly string[],
  signal: AbortSignal,
  onChange: (change: TaskChange) => void,
): Promise<void> {
  const method = 'subscriptions/listen';
  const response = await fetch(`http://127.0.0.1:${server.port}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        notifications: { taskIds },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
          'io.modelcontextprotocol/clientCapabilities': {
            extensions: { 'io.modelcontextprotocol/tasks': {} },
          },
        },
      },
    }),
    signal,
  });
  for await (const { data } of readEvents(response.body!)) {
    const { method: kind, params } = JSON.parse(data);
    if (kind === 'notifications/tasks') onChange(params);
  }
  throw new Error('The subscription of the benchmark ended.');
}
