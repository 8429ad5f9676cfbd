/**
 * `npm run bench -- peers`: compares Holdfast with other systems for durable workflows. All run the same workflows on the
 * same Postgres with fsync. They are installed into bench/peers when the suite first runs.
 */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type PostgresServer, query, startPostgres } from '../test/postgres/server.ts';
import { inFolder } from './folder.ts';
import { median, timing } from './measure.ts';
import { PeerProcess } from './peers/child.ts';
import { hasRestateServer, startRestate } from './peers/restate-server.ts';
import { storedBytes } from './postgres-storage.ts';
import type { Findings, Suite, Table } from './report.ts';

interface Plan {
  readonly rounds: number;
  /** Workflows started at once: that do nothing, and with five steps. */
  readonly nothing: number;
  readonly fiveSteps: number;
  /** The limits for workflows that run one after the other. */
  readonly samples: number;
  readonly seconds: number;
}

const full: Plan = { rounds: 5, nothing: 2_000, fiveSteps: 1_000, samples: 100, seconds: 8 };
const quick: Plan = { rounds: 1, nothing: 50, fiveSteps: 20, samples: 5, seconds: 2 };

/** For throughput. Latency is measured with the defaults of each system. */
const concurrency = 64;

interface System {
  readonly name: string;
  /** A file in bench/peers. */
  readonly adapter: string;
  readonly store: 'postgres' | 'sqlite' | 'restate';
  readonly hasSteps: boolean;
  /** The Holdfast configuration that it is compared with. */
  readonly next?: string;
}

const systems: readonly System[] = [
  { name: 'Holdfast, Postgres', adapter: 'holdfast', store: 'postgres', hasSteps: true },
  { name: 'DBOS', adapter: 'dbos', store: 'postgres', hasSteps: true, next: 'Holdfast, Postgres' },
  {
    name: 'openworkflow, Postgres',
    adapter: 'openworkflow',
    store: 'postgres',
    hasSteps: true,
    next: 'Holdfast, Postgres',
  },
  { name: 'absurd', adapter: 'absurd', store: 'postgres', hasSteps: true, next: 'Holdfast, Postgres' },
  { name: 'Restate', adapter: 'restate', store: 'restate', hasSteps: true, next: 'Holdfast, Postgres' },
  { name: 'pg-boss', adapter: 'pg-boss', store: 'postgres', hasSteps: false, next: 'Holdfast, Postgres' },
  { name: 'Holdfast, SQLite', adapter: 'holdfast', store: 'sqlite', hasSteps: true },
  {
    name: 'openworkflow, SQLite',
    adapter: 'openworkflow',
    store: 'sqlite',
    hasSteps: true,
    next: 'Holdfast, SQLite',
  },
];

/** The measurements of one system, one value per round. */
class Measured {
  readonly system: System;
  /** Workflows per second. */
  readonly nothing: number[] = [];
  readonly fiveSteps: number[] = [];
  /** Bytes per workflow with five steps. */
  readonly left: number[] = [];
  readonly compacted: number[] = [];
  /** Milliseconds of all rounds. */
  readonly sameSeen: number[] = [];
  readonly otherStart: number[] = [];
  readonly otherSeen: number[] = [];

  constructor(system: System) {
    this.system = system;
  }
}

export const peers: Suite = {
  name: 'peers',
  run: ({ quick: isQuick }) =>
    inFolder(async (folder) => {
      install();
      const plan = isQuick ? quick : full;
      const postgres = await startPostgres();
      try {
        const places = new Places(folder, postgres);
        const all = (await available(places)).map((system) => new Measured(system));
        for (const measure of [measureNothing, measureFiveSteps, measureLatency])
          for (let round = 0; round < plan.rounds; round++)
            for (let turn = 0; turn < all.length; turn++) {
              const one = all[(round + turn) % all.length]!;
              await places
                .with(one.system, (place) => measure(one, place, plan))
                .catch((error) => reportFailure(one.system, error));
            }
        return {
          comparisons: [],
          rates: [],
          tables: [throughput(all), latency(all), storage(all)],
          targets: [],
        } satisfies Findings;
      } finally {
        await postgres.stop();
      }
    }),
};

/** A peer that fails loses that round. */
function reportFailure({ name, next }: System, error: unknown): void {
  if (next === undefined) throw error;
  console.log(`${name} failed in one round: ${error}`);
}

function install(): void {
  const folder = join(import.meta.dirname, 'peers');
  const installed = join(folder, 'node_modules', '.package-lock.json');
  const isCurrent =
    existsSync(installed) &&
    statSync(installed).mtimeMs > statSync(join(folder, 'package-lock.json')).mtimeMs;
  if (isCurrent) return;
  console.log('Installing the peers into bench/peers/node_modules (about 250 MB) …');
  // Without install scripts: no package needs them, and one would report the installation.
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts'], { cwd: folder, stdio: 'inherit' });
  if (status !== 0)
    throw new Error('npm could not install the peers: see its output above. It needs the npm registry.');
}

/** The systems that start here and run a workflow. Prints why others are left out. */
async function available(places: Places): Promise<System[]> {
  const found: System[] = [];
  for (const system of systems) {
    const problem = whyNot(system) ?? (await tryOne(system, places));
    if (problem === undefined) found.push(system);
    else console.log(`${system.name} is left out: ${problem}`);
  }
  return found;
}

function whyNot({ adapter }: System): string | undefined {
  if (adapter === 'absurd' && process.env.ABSURD_SQL === undefined)
    return 'its npm package does not contain the SQL that installs it. Set ABSURD_SQL to the path of sql/absurd.sql from its repository.';
  if (adapter === 'restate' && !hasRestateServer())
    return `@restatedev/restate-server has no program for ${process.platform} on ${process.arch}.`;
  return undefined;
}

async function tryOne(system: System, places: Places): Promise<string | undefined> {
  try {
    await places.with(system, async ({ location }) => {
      await using process = await PeerProcess.start(system.adapter, {
        location,
        isWorker: true,
        isStarter: true,
      });
      await process.runAll('nothing', 1);
    });
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/** The store of one system during one measurement. */
interface Place {
  readonly location: string;
  bytes(): number | Promise<number>;
  /** Undefined where there is nothing to compact. */
  compact(): Promise<boolean> | boolean;
}

class Places {
  readonly #folder: string;
  readonly #postgres: PostgresServer;

  constructor(folder: string, postgres: PostgresServer) {
    this.#folder = folder;
    this.#postgres = postgres;
  }

  async with<T>({ store }: System, use: (place: Place) => Promise<T>): Promise<T> {
    const path = join(this.#folder, randomUUID());
    switch (store) {
      case 'postgres':
        return use(await this.#database());
      case 'sqlite':
        mkdirSync(path);
        return use(fileIn(path));
      case 'restate': {
        const { urls, stop } = await startRestate(path);
        try {
          return await use({
            location: JSON.stringify(urls),
            bytes: () => bytesIn(path),
            compact: () => false,
          });
        } finally {
          await stop();
        }
      }
    }
  }

  async #database(): Promise<Place> {
    const location = await this.#postgres.createDatabase();
    return {
      location,
      bytes: () => storedBytes(location),
      async compact() {
        await query(location, 'vacuum full');
        return true;
      },
    };
  }
}

function fileIn(folder: string): Place {
  const location = join(folder, 'workflows.db');
  return {
    location,
    bytes: () => bytesIn(folder),
    compact() {
      const db = new DatabaseSync(location);
      db.exec('vacuum; pragma wal_checkpoint(truncate)');
      db.close();
      return true;
    },
  };
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

async function measureNothing({ system, nothing }: Measured, { location }: Place, plan: Plan): Promise<void> {
  await using process = await PeerProcess.start(system.adapter, {
    location,
    isWorker: true,
    isStarter: true,
    concurrency,
  });
  await process.runAll('nothing', Math.ceil(plan.nothing / 10));
  nothing.push(plan.nothing / (await process.runAll('nothing', plan.nothing)));
}

async function measureFiveSteps(measured: Measured, place: Place, plan: Plan): Promise<void> {
  const { system, fiveSteps, left, compacted } = measured;
  if (!system.hasSteps) return;
  const warmUp = Math.ceil(plan.fiveSteps / 10);
  const total = plan.fiveSteps + warmUp;
  const setting = { location: place.location, isWorker: true, isStarter: true, concurrency };
  // The first process only creates the tables.
  await (await PeerProcess.start(system.adapter, setting))[Symbol.asyncDispose]();
  const empty = await place.bytes();
  {
    await using process = await PeerProcess.start(system.adapter, setting);
    await process.runAll('fiveSteps', warmUp);
    fiveSteps.push(plan.fiveSteps / (await process.runAll('fiveSteps', plan.fiveSteps)));
  }
  left.push(((await place.bytes()) - empty) / total);
  if (await place.compact()) compacted.push(((await place.bytes()) - empty) / total);
}

async function measureLatency(measured: Measured, place: Place, plan: Plan): Promise<void> {
  const { system, sameSeen, otherStart, otherSeen } = measured;
  const { location } = place;
  {
    // The process that starts workflows is opened first: it creates the tables.
    await using starter = await PeerProcess.start(system.adapter, {
      location,
      isWorker: false,
      isStarter: true,
    });
    await using worker = await PeerProcess.start(system.adapter, {
      location,
      isWorker: true,
      isStarter: false,
    });
    for (const { n, calledMs, seenMs } of await starter.runOneByOne(plan.samples, plan.seconds)) {
      otherSeen.push(seenMs - calledMs);
      otherStart.push((await worker.began(n)) - calledMs);
    }
  }
  await using both = await PeerProcess.start(system.adapter, { location, isWorker: true, isStarter: true });
  for (const { calledMs, seenMs } of await both.runOneByOne(plan.samples, plan.seconds))
    sameSeen.push(seenMs - calledMs);
}

function throughput(all: readonly Measured[]): Table {
  return {
    columns: [
      `workflows per second (${concurrency} at a time)`,
      'no-op',
      'range',
      'Holdfast ÷ it',
      'five steps',
      'range',
      'Holdfast ÷ it',
    ],
    rows: all.map((one) => {
      const holdfast = all.find(({ system }) => system.name === one.system.next);
      const cells = (of: (measured: Measured) => readonly number[]) => [
        middle(of(one)),
        range(of(one)),
        holdfast && middle(of(one)) && middle(of(holdfast))! / middle(of(one))!,
      ];
      return [one.system.name, ...cells(({ nothing }) => nothing), ...cells(({ fiveSteps }) => fiveSteps)];
    }),
  };
}

function latency(all: readonly Measured[]): Table {
  return {
    columns: [
      'ms from start to seen (defaults, random gaps)',
      'same process p50',
      'p99',
      'other process starts p50',
      'seen p50',
      'p99',
      'samples',
    ],
    rows: all.map(({ system, sameSeen, otherStart, otherSeen }) => {
      const [same, start, seen] = [sameSeen, otherStart, otherSeen].map((samples) =>
        samples.length > 0 ? timing(samples) : undefined,
      );
      return [system.name, same?.p50, same?.p99, start?.p50, seen?.p50, seen?.p99, seen?.samples];
    }),
  };
}

function storage(all: readonly Measured[]): Table {
  return {
    columns: ['bytes per workflow with five steps', 'as left', 'compacted'],
    rows: all
      .filter(({ system }) => system.hasSteps)
      .map(({ system, left, compacted }) => [system.name, middle(left), middle(compacted)]),
  };
}

function middle(values: readonly number[]): number | undefined {
  return values.length > 0 ? median(values) : undefined;
}

function range(values: readonly number[]): string | undefined {
  if (values.length === 0) return undefined;
  return `${Math.round(Math.min(...values))}–${Math.round(Math.max(...values))}`;
}
