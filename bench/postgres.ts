/**
 * The Postgres store: tasks from create to completed next to a plain `for update skip locked` loop, how soon a worker
 * in another process begins, polls on one and on two servers, and news of one replica at another.
 */
import { createTasks, type Tasks } from '../src/index.ts';
import { openPostgres } from '../src/postgres.ts';
import { type PostgresServer, query, startPostgres } from '../test/postgres/server.ts';
import { CpuMeter, childrenOf } from './cpu.ts';
import { interleave, type Operation, type Side, type Turns } from './measure.ts';
import { type Life, PlainLoop, recordLife } from './plain-loop.ts';
import { WorkerProcess } from './postgres-child.ts';
import { measureNews } from './postgres-news.ts';
import { comparePolls } from './postgres-polls.ts';
import { connections, monotonicMs, nothing, stamp } from './postgres-worker.ts';
import type { Comparison, Findings, Rate, Share, Suite, Target } from './report.ts';

interface Plan {
  readonly batched: Turns;
  readonly unbatched: Turns;
  readonly starts: number;
  readonly polls: Turns;
  /** Tasks that change in each of three tries, at most 1,000. */
  readonly changes: number;
}

const full: Plan = {
  batched: { rounds: 30, chunk: 1 },
  unbatched: { rounds: 30, chunk: 1 },
  starts: 300,
  polls: { rounds: 60, chunk: 1 },
  changes: 1_000,
};
const quick: Plan = {
  batched: { rounds: 4, chunk: 1 },
  unbatched: { rounds: 4, chunk: 1 },
  starts: 40,
  polls: { rounds: 6, chunk: 1 },
  changes: 200,
};

/** How many tasks share what: as many in one transaction as the store puts there, or each by itself. */
interface Batching {
  readonly name: string;
  readonly burst: number;
  readonly perTransaction: number;
  readonly places: number;
  readonly loops: number;
}

const batched: Batching = { name: 'batched', burst: 1_024, perTransaction: 256, places: 192, loops: 3 };
const unbatched: Batching = { name: 'one by one', burst: 64, perTransaction: 1, places: 1, loops: 1 };

export const postgresSuite: Suite = {
  name: 'postgres',
  async run({ quick: isQuick }) {
    const plan = isQuick ? quick : full;
    const server = await startPostgres();
    try {
      const life = await recordLife(await server.createDatabase(), nothing);
      const whole = [
        await compareWholeTasks(server, life, batched, plan.batched),
        await compareWholeTasks(server, life, unbatched, plan.unbatched),
      ];
      const start = await measureStarts(server, plan.starts);
      const polls = await comparePolls(server, plan.polls);
      const news = await measureNews(server, plan.changes);
      return {
        comparisons: whole.map(({ comparison }) => comparison),
        rates: [...whole.flatMap(({ rates }) => rates), ...polls.rates],
        shares: [...whole.flatMap(({ shares }) => shares), ...polls.shares],
        targets: [...whole.map(({ target }) => target), start, news],
      } satisfies Findings;
    } finally {
      await server.stop();
    }
  },
};

interface Whole {
  readonly comparison: Comparison;
  readonly rates: readonly Rate[];
  readonly shares: readonly Share[];
  readonly target: Target;
}

/** Makers and workers are in different processes on both sides, and each process has as many connections. */
async function compareWholeTasks(
  server: PostgresServer,
  life: Life,
  batching: Batching,
  turns: Turns,
): Promise<Whole> {
  const { name, burst, places, loops } = batching;
  const url = await server.createDatabase();
  const holdfast = await openMaker(url, 'holdfast');
  // The same tables and indexes.
  await (await openPostgres(url, { schema: 'plain' })).close();
  const plain = new PlainLoop(url, 'plain', life, connections);
  const workers = await Promise.all([
    WorkerProcess.start({ url, schema: 'holdfast', places }),
    WorkerProcess.start({ url, schema: 'plain', places, plain: { life, loops } }),
  ]);
  const meters = workers.map(
    ({ pid }) =>
      new CpuMeter({
        'maker of tasks': () => [process.pid],
        worker: () => [pid],
        Postgres: () => [server.pid, ...childrenOf(server.pid)],
      }),
  );
  try {
    const makers = [() => makeWithHoldfast(holdfast, batching), () => makePlainly(plain, batching)];
    const [ours, theirs] = makers.map((make, index) =>
      meters[index]!.metered(burstOf(workers[index]!, burst, make)),
    );
    const timings = await interleave({ holdfast: ours!, baseline: theirs! }, turns);
    const perSecond = (us: number) => (burst / us) * 1e6;
    const what = `tasks from create to completed, ${name}`;
    const perThousand = await Promise.all(['holdfast', 'plain'].map((one) => transactions(url, one)));
    const rates = [
      { what, stored: burst, perSecond: perSecond(timings.holdfast.p50) },
      { what: '… in a plain loop', stored: burst, perSecond: perSecond(timings.baseline.p50) },
    ];
    return {
      comparison: {
        what: `${burst} ${what} (${perThousand.join(' and ')} transactions for 1,000)`,
        stored: burst,
        ...timings,
      },
      rates,
      shares: meters.flatMap((meter, index) =>
        meter.shares().map((share) => ({ what: rates[index]!.what, ...share })),
      ),
      target: {
        what: `${what}, next to a plain loop`,
        measured: timings.baseline.p50 / timings.holdfast.p50,
        atLeast: 0.5,
      },
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await holdfast.close();
    await plain.close();
  }
}

async function openMaker(url: string, schema: string): Promise<Tasks> {
  const tasks = createTasks({
    store: await openPostgres(url, { schema, connections }),
    tools: [nothing, stamp],
  });
  return tasks;
}

function burstOf(worker: WorkerProcess, burst: number, make: () => Promise<void>): Side {
  const operation: Operation = () => Promise.all([worker.done(burst), make()]);
  return { prepare: (count) => Array.from({ length: count }, () => operation) };
}

async function makeWithHoldfast(tasks: Tasks, { burst, perTransaction }: Batching): Promise<void> {
  if (perTransaction > 1) await Promise.all(Array.from({ length: burst }, () => tasks.create(nothing)));
  else for (let made = 0; made < burst; made++) await tasks.create(nothing);
}

async function makePlainly(plain: PlainLoop, { burst, perTransaction, loops }: Batching): Promise<void> {
  let left = burst;
  const maker = async () => {
    while (left > 0) {
      const count = Math.min(left, perTransaction);
      left -= count;
      await plain.create(count);
    }
  };
  await Promise.all(Array.from({ length: loops }, maker));
}

/** How many transactions wrote, for each thousand tasks: about the same on both sides, if they are batched alike. */
async function transactions(url: string, schema: string): Promise<number> {
  const [row] = await query(
    url,
    `select count(distinct xact) * 1000.0 / count(distinct task) as n from ${schema}.commits`,
  );
  return Math.round(Number(row!.n));
}

async function measureStarts(server: PostgresServer, count: number): Promise<Target> {
  const url = await server.createDatabase();
  const tasks = await openMaker(url, 'holdfast');
  const worker = await WorkerProcess.start({ url, schema: 'holdfast', places: 8 });
  const began = new Map<string, PromiseWithResolvers<number>>();
  const beginning = (id: string) => {
    const known = began.get(id) ?? Promise.withResolvers<number>();
    began.set(id, known);
    return known;
  };
  worker.onBegan((id, atMs) => beginning(id).resolve(atMs));
  try {
    const samples: number[] = [];
    for (let n = 0; n < count; n++) {
      const { id } = await tasks.create(stamp);
      const committedMs = monotonicMs();
      samples.push((await beginning(id).promise) - committedMs);
    }
    samples.sort((a, b) => a - b);
    return {
      what: `a worker in another process begins after the commit (p50 of ${count})`,
      measured: samples[Math.floor(count / 2)]!,
      unit: 'ms',
      atMost: 40,
    };
  } finally {
    await worker.stop();
    await tasks.close();
  }
}
