/** One process of the cluster, a server or a worker, until it is killed or stopped. */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks, type Database, type Duration, type LogEntry } from '../../../src/index.ts';
import { serveHttp } from '../../../src/server.ts';
import { withoutLimits } from '../../../test/fixture/without-limits.ts';
import { blockLoop, moveClock } from '../../../test/techniques/chaos/movable-clock.ts';
import { clusterTools } from './errand.ts';
import { HistoryFile, moment } from './history.ts';
import { openStore } from './store.ts';

export interface MemberOptions {
  readonly name: string;
  readonly role: 'server' | 'worker';
  readonly store: string;
  /** The folder for the lines of its steps. */
  readonly folder: string;
  readonly run: string;
  readonly concurrency?: number;
  /** Overrides the default. */
  readonly lease?: Duration;
  /** The offset of its wall clock. */
  readonly clockMs?: number;
}

export type Order =
  | { readonly order: 'stop' }
  | { readonly order: 'block'; readonly ms: number }
  | { readonly order: 'clock'; readonly ms: number };

export type MemberMessage =
  | { readonly kind: 'ready'; readonly url?: string }
  | { readonly kind: 'log'; readonly entry: LogEntry }
  | { readonly kind: 'failed'; readonly error: string };

/** `through` wraps the database, so that a test can break it. */
export async function join(through: (database: Database) => Database = (database) => database) {
  const options: MemberOptions = JSON.parse(process.argv[2]!);
  const { name, role, store, folder, run, concurrency = 32, lease, clockMs = 0 } = options;
  const history = new HistoryFile(folder, name);
  moveClock(clockMs);
  const stop = Promise.withResolvers<void>();
  const input = createInterface({ input: process.stdin });
  input.on('line', (text) => {
    const order: Order = JSON.parse(text);
    if (order.order === 'stop') stop.resolve();
    if (order.order === 'clock') moveClock(order.ms);
    if (order.order === 'block') block(order.ms);
  });
  // The end of the run closes our standard input, and ends this process.
  input.on('close', () => process.exit(1));
  /** Recorded here, because only this process knows when the block starts. */
  const block = (ms: number) => {
    history.add({ what: 'fate', process: name, role, fate: 'blocked', at: moment() });
    blockLoop(ms);
    history.add({ what: 'fate', process: name, role, fate: 'continued', at: moment() });
  };
  try {
    const tasks = createTasks({
      store: async () => through(await openStore(store)),
      tools: clusterTools({ history, process: name, run }),
      limits: withoutLimits,
      log: (entry) => {
        if (entry.level === 'warn' || entry.level === 'error') send({ kind: 'log', entry });
      },
    });
    let end = () => tasks.close();
    if (role === 'server') {
      const served = await serveHttp(tasks, factory, { port: 0, auth: { verifier }, onError: () => {} });
      end = () => served.stop();
      send({ kind: 'ready', url: served.url });
    } else {
      await tasks.work({ concurrency, ...(lease !== undefined && { lease }) });
      send({ kind: 'ready' });
    }
    await stop.promise;
    await end();
    process.exit(0);

    function factory(): McpServer {
      const mcp = new McpServer({ name: 'holdfast-chaos', version: '1.0.0' });
      tasks.attach(mcp);
      return mcp;
    }
  } catch (error) {
    send({ kind: 'failed', error: (error as Error).stack ?? String(error) });
    process.exit(1);
  }
}

/** Accepts every token and uses it as the name of the client. */
const verifier = {
  verifyAccessToken: async (token: string) => ({
    token,
    clientId: token,
    scopes: [],
    expiresAt: Math.floor(Date.now() / 1_000) + 3_600,
  }),
};

function send(line: MemberMessage): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

if (import.meta.main) await join();
