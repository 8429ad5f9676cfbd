/**
 * Polls of distinct live and finished tasks over HTTP, on one and two servers that share a Postgres, compared with an
 * echo of the same answer; and the CPU use of each part.
 */

import { createTasks } from '../src/index.ts';
import { openPostgres } from '../src/postgres.ts';
import { anonymous } from '../src/task-methods/caller.ts';
import type { PostgresServer } from '../test/postgres/server.ts';
import { bursts } from './bursts.ts';
import { CpuMeter, childrenOf } from './cpu.ts';
import { shuffled } from './fixture.ts';
import { interleave, type Timing, type Turns } from './measure.ts';
import { nothing } from './postgres-worker.ts';
import type { Comparison, Rate, Share } from './report.ts';
import type { Connection } from './server-connection.ts';
import { holdfastPeer, look } from './server-peers.ts';
import { ServerProcess } from './server-process.ts';

const clients = 32;
const inABurst = 1_024;

export async function comparePolls(
  postgres: PostgresServer,
  ofEach: number,
  turns: Turns,
): Promise<{ comparisons: Comparison[]; rates: Rate[]; shares: Share[] }> {
  const url = await postgres.createDatabase();
  const schema = 'holdfast';
  const { live, finished } = await fill(url, schema, ofEach);
  const start = () => ServerProcess.start('postgres-server.ts', url, schema);
  const servers = [await start(), await start()];
  const started = [...servers];
  try {
    const peer = holdfastPeer();
    const polls = async (ids: readonly string[], to: readonly ServerProcess[]) => {
      let next = 0;
      const asking = () => {
        const get = peer.get(ids[next++ % ids.length]!);
        return (one: Connection) => look(one, get);
      };
      const opened = await Promise.all(to.map((server) => server.connect(clients / to.length)));
      return bursts(opened.flat(), inABurst, asking);
    };
    const echoOf = async (ids: readonly string[]) => {
      const [connection] = await servers[0]!.connect(1);
      const answer = await look(connection!, peer.get(ids[0]!));
      const echo = await ServerProcess.start('server-echo.ts', answer.slice(answer.indexOf('\r\n\r\n')));
      started.push(echo);
      return polls(ids, [echo]);
    };
    const meters = [1, 2].map(
      (count) =>
        new CpuMeter({
          'server processes': () => servers.slice(0, count).map(({ pid }) => pid),
          Postgres: () => [postgres.pid, ...childrenOf(postgres.pid)],
          'load generator': () => [process.pid],
        }),
    );
    const timings = await interleave(
      {
        live: meters[0]!.metered(await polls(live, servers.slice(0, 1))),
        liveOnTwo: meters[1]!.metered(await polls(live, servers)),
        finished: await polls(finished, servers.slice(0, 1)),
        liveEcho: await echoOf(live),
        finishedEcho: await echoOf(finished),
      },
      turns,
    );
    const what = (kind: string, count = 1) =>
      `polls of distinct ${kind} tasks, ${count} server${count > 1 ? 's' : ''}`;
    const rate = (name: string, { p50 }: Timing): Rate => ({
      what: name,
      stored: 2 * ofEach,
      perSecond: (inABurst / p50) * 1e6,
    });
    const compared = (name: string, holdfast: Timing, baseline: Timing): Comparison => ({
      what: `${inABurst} ${name}, next to a bare echo`,
      stored: 2 * ofEach,
      holdfast,
      baseline,
    });
    return {
      comparisons: [
        compared(what('live'), timings.live, timings.liveEcho),
        compared(what('finished'), timings.finished, timings.finishedEcho),
      ],
      rates: [
        rate(what('live'), timings.live),
        rate(what('live', 2), timings.liveOnTwo),
        rate(what('finished'), timings.finished),
        rate('… live, as a bare echo', timings.liveEcho),
        rate('… finished, as a bare echo', timings.finishedEcho),
      ],
      shares: meters.flatMap((meter, index) =>
        meter.shares().map((share) => ({ what: what('live', index + 1), ...share })),
      ),
    };
  } finally {
    for (const server of started) await server.stop();
  }
}

/** The same number of finished and live tasks in random order. No worker runs the live ones. */
async function fill(
  url: string,
  schema: string,
  ofEach: number,
): Promise<{ live: string[]; finished: string[] }> {
  const tasks = createTasks({ store: await openPostgres(url, { schema }), tools: [nothing] });
  const create = async () => {
    const ids: string[] = [];
    const one = async () => ids.push((await tasks.create(nothing, {}, { owner: anonymous })).id);
    while (ids.length < ofEach) await Promise.all(Array.from({ length: Math.min(1_000, ofEach) }, one));
    return shuffled(ids);
  };
  try {
    const worker = await tasks.work({ concurrency: 64 });
    const finished = await create();
    await Promise.all(finished.map((id) => tasks.outcome(id)));
    await worker.stop();
    return { live: await create(), finished };
  } finally {
    await tasks.close();
  }
}
