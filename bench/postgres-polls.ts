/** `tasks/get` over HTTP on one and on two servers that share a Postgres, and who used the CPU meanwhile. */

import { anonymous } from '../src/hosting/caller.ts';
import { createTasks } from '../src/index.ts';
import { openPostgres } from '../src/postgres.ts';
import type { PostgresServer } from '../test/postgres/server.ts';
import { bursts } from './bursts.ts';
import { CpuMeter, childrenOf } from './cpu.ts';
import { interleave, type Turns } from './measure.ts';
import { nothing } from './postgres-worker.ts';
import type { Rate, Share } from './report.ts';
import type { Connection } from './server-connection.ts';
import { holdfastPeer, look } from './server-peers.ts';
import { ServerProcess } from './server-process.ts';

const stored = 1_000;
const clients = 32;
const inABurst = 1_024;

export async function comparePolls(
  postgres: PostgresServer,
  turns: Turns,
): Promise<{ rates: Rate[]; shares: Share[] }> {
  const url = await postgres.createDatabase();
  const schema = 'holdfast';
  const ids = await fill(url, schema);
  const start = () => ServerProcess.start('postgres-server.ts', url, schema);
  const servers = [await start(), await start()];
  try {
    const peer = holdfastPeer();
    const asking = () => {
      const get = peer.get(ids[Math.floor(Math.random() * ids.length)]!);
      return (one: Connection) => look(one, get);
    };
    const meters = [1, 2].map(
      (count) =>
        new CpuMeter({
          'server processes': () => servers.slice(0, count).map(({ pid }) => pid),
          Postgres: () => [postgres.pid, ...childrenOf(postgres.pid)],
          'load generator': () => [process.pid],
        }),
    );
    const side = async (count: number) => {
      const some = servers.slice(0, count);
      const opened = await Promise.all(some.map((server) => server.connect(clients / count)));
      return meters[count - 1]!.metered(bursts(opened.flat(), inABurst, asking));
    };
    const timings = await interleave({ one: await side(1), two: await side(2) }, turns);
    const perSecond = (us: number) => (inABurst / us) * 1e6;
    const what = (count: number) => `tasks/get over HTTP, ${count} server${count > 1 ? 's' : ''}`;
    return {
      rates: [
        { what: what(1), stored, perSecond: perSecond(timings.one.p50) },
        { what: what(2), stored, perSecond: perSecond(timings.two.p50) },
      ],
      shares: meters.flatMap((meter, index) =>
        meter.shares().map((share) => ({ what: what(index + 1), ...share })),
      ),
    };
  } finally {
    for (const server of servers) await server.stop();
  }
}

/** Tasks that nobody runs: what is polled most is not over. */
async function fill(url: string, schema: string): Promise<string[]> {
  const tasks = createTasks({ store: await openPostgres(url, { schema }), tools: [nothing] });
  try {
    const made = Array.from({ length: stored }, () => tasks.create(nothing, {}, { owner: anonymous }));
    return (await Promise.all(made)).map(({ id }) => id);
  } finally {
    await tasks.close();
  }
}
