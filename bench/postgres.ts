/**
 * The Postgres store: tasks from create to completed compared with a plain `for update skip locked` loop, the size of a
 * finished task, polls on one and two servers, and the delay of changes between replicas.
 */
import { createTasks, type Tasks } from '../src/index.ts';
import { openPostgres } from '../src/postgres.ts';
import { type PostgresServer, query, startPostgres } from '../test/postgres/server.ts';
import { CpuMeter, childrenOf } from './cpu.ts';
import { interleave, type Operation, type Side, type Turns } from './measure.ts';
import { createPlainTables, type Life, PlainLoop, recordLife } from './plain-loop.ts';
import { measureChangeDelay } from './postgres-changes.ts';
import { WorkerGroup } from './postgres-child.ts';
import { comparePolls } from './postgres-polls.ts';
import { measureStorage } from './postgres-storage.ts';
import { connections, nothing } from './postgres-worker.ts';
import type { Comparison, Findings, Rate, Share, Suite, Target } from './report.ts';

interface Plan {
  readonly batched: Turns;
  readonly unbatched: Turns;
  readonly storage: { readonly rounds: number; readonly tasks: number };
  /** Live tasks, and as many finished ones: more than a process keeps in memory. */
  readonly polled: number;
  readonly polls: Turns;
  /** Tasks that change in each of three tries, at most 1,000. */
  readonly changes: number;
}

const full: Plan = {
  batched: { rounds: 30, chunk: 1 },
  unbatched: { rounds: 30, chunk: 1 },
  storage: { rounds: 5, tasks: 2_000 },
  polled: 20_000,
  polls: { rounds: 60, chunk: 1 },
  changes: 1_000,
};
const quick: Plan = {
  batched: { rounds: 4, chunk: 1 },
  unbatched: { rounds: 4, chunk: 1 },
  storage: { rounds: 1, tasks: 200 },
  polled: 1_000,
  polls: { rounds: 6, chunk: 1 },
  changes: 200,
};

/** The batch size: as many tasks per transaction as the store uses, or one. */
interface Batching {
  readonly name: string;
  readonly burst: number;
  readonly perTransaction: number;
  readonly places: number;
  readonly loops: number;
  /** Processes that run tasks. */
  readonly workers: number;
  /** The minimum share of the plain loop's throughput. */
  readonly atLeast: number;
}

const batched: Batching = {
  name: 'batched',
  burst: 1_024,
  perTransaction: 256,
  places: 192,
  loops: 3,
  workers: 1,
  atLeast: 0.5,
};
const twoWorkers: Batching = { ...batched, name: 'batched, two workers', workers: 2 };
const unbatched: Batching = {
  name: 'one by one',
  burst: 64,
  perTransaction: 1,
  places: 1,
  loops: 1,
  workers: 1,
  atLeast: 0.6,
};

export const postgresSuite: Suite = {
  name: 'postgres',
  async run({ quick: isQuick }) {
    const plan = isQuick ? quick : full;
    const server = await startPostgres();
    try {
      const life = await recordLife(await server.createDatabase(), nothing);
      const whole = [
        await compareWholeTasks(server, life, batched, plan.batched),
        await compareWholeTasks(server, life, twoWorkers, plan.batched),
        await compareWholeTasks(server, life, unbatched, plan.unbatched),
      ];
      const storage = await measureStorage(server, plan.storage);
      const polls = await comparePolls(server, plan.polled, plan.polls);
      const delay = await measureChangeDelay(server, plan.changes);
      return {
        comparisons: [...whole.map(({ comparison }) => comparison), ...polls.comparisons],
        rates: [...whole.flatMap(({ rates }) => rates), ...polls.rates],
        shares: [...whole.flatMap(({ shares }) => shares), ...polls.shares],
        targets: [...whole.map(({ target }) => target), ...storage, delay],
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

/** On both sides, creators and workers are in different processes with the same number of connections. */
async function compareWholeTasks(
  server: PostgresServer,
  life: Life,
  batching: Batching,
  turns: Turns,
): Promise<Whole> {
  const { name, burst, places, loops, workers, atLeast } = batching;
  const url = await server.createDatabase();
  const holdfast = await openMaker(url, 'holdfast');
  await createPlainTables(url, 'plain');
  const plain = new PlainLoop(url, 'plain', life, connections);
  const groups = await Promise.all([
    WorkerGroup.start({ url, schema: 'holdfast', places }, workers),
    WorkerGroup.start({ url, schema: 'plain', places, plain: { life, loops } }, workers),
  ]);
  const meters = groups.map(
    ({ pids }) =>
      new CpuMeter({
        'maker of tasks': () => [process.pid],
        workers: () => pids,
        Postgres: () => [server.pid, ...childrenOf(server.pid)],
      }),
  );
  try {
    const makers = [() => makeWithHoldfast(holdfast, batching), () => makePlainly(plain, batching)];
    const [ours, theirs] = makers.map((make, index) =>
      meters[index]!.metered(burstOf(groups[index]!, burst, make)),
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
        atLeast,
      },
    };
  } finally {
    await Promise.all(groups.map((group) => group.stop()));
    await holdfast.close();
    await plain.close();
  }
}

async function openMaker(url: string, schema: string): Promise<Tasks> {
  const tasks = createTasks({
    store: await openPostgres(url, { schema, connections }),
    tools: [nothing],
  });
  return tasks;
}

function burstOf(group: WorkerGroup, burst: number, make: () => Promise<void>): Side {
  const operation: Operation = () => Promise.all([group.complete(burst), make()]);
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

/** The number of write transactions per thousand tasks: about the same on both sides with equal batching. */
async function transactions(url: string, schema: string): Promise<number> {
  const [row] = await query(
    url,
    `select count(distinct xact) * 1000.0 / count(distinct task) as n from ${schema}.commits`,
  );
  return Math.round(Number(row!.n));
}
