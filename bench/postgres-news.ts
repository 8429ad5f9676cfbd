/** How soon a subscriber at one replica hears of what another has committed, at 200 changes in a second. */
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

export async function measureNews(postgres: PostgresServer, changes: number): Promise<Target> {
  const url = await postgres.createDatabase();
  const schema = 'holdfast';
  const here = createTasks({ store: await openPostgres(url, { schema }), tools: [nothing] });
  const there = await ServerProcess.start('postgres-server.ts', url, schema);
  try {
    const p99s: number[] = [];
    for (let n = 0; n < tries; n++) {
      const made = Array.from({ length: changes }, () => here.create(nothing, {}, { owner: anonymous }));
      const ids = (await Promise.all(made)).map(({ id }) => id);
      p99s.push(await p99OfOneTry(ids, there, (id) => here.cancel(id)));
    }
    return {
      what: `news of another replica, from the command to the subscriber, at 200 changes/s (p99 of ${changes}, best of ${tries})`,
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
  const heard = new Map<string, number>();
  const standing = new Set<string>();
  const allStand = Promise.withResolvers<void>();
  const allHeard = Promise.withResolvers<void>();
  const listening = listen(there, ids, abort.signal, ({ taskId, status }) => {
    if (status === 'working' && standing.add(taskId).size === ids.length) allStand.resolve();
    if (status !== 'cancelled') return;
    heard.set(taskId, monotonicMs());
    if (heard.size === ids.length) allHeard.resolve();
  });
  await Promise.race([allStand.promise, listening]);
  const told = new Map<string, number>();
  const started = performance.now();
  const under: Promise<unknown>[] = [];
  for (const [index, id] of ids.entries()) {
    await pause(Math.max(0, started + index * everyMs - performance.now()));
    told.set(id, monotonicMs());
    under.push(change(id));
  }
  await Promise.all(under);
  await Promise.race([allHeard.promise, listening]);
  abort.abort();
  await listening.catch(() => {});
  const samples = ids.map((id) => heard.get(id)! - told.get(id)!).sort((a, b) => a - b);
  return samples[Math.floor(samples.length * 0.99)]!;
}

interface News {
  readonly taskId: string;
  readonly status: string;
}

async function listen(
  server: ServerProcess,
  taskIds: readonly string[],
  signal: AbortSignal,
  hear: (news: News) => void,
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
    if (kind === 'notifications/tasks') hear(params);
  }
  throw new Error('The subscription of the benchmark ended.');
}
