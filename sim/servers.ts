/** The servers of a simulation: each a process with its own tasks, worker and HTTP face, on one database. */
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks, type Tasks } from '../src/index.ts';
import { type CrashPoint, onCrashPoint } from '../src/ports/crash-point.ts';
import type { Database } from '../src/ports/queue.ts';
import { McpHandler, staticTokens } from '../src/server.ts';
import type { SimDatabase } from './database.ts';
import { faulty, type StoreState } from './faulty-database.ts';
import { hurry, player, type Release } from './handler.ts';
import type { Network } from './network.ts';
import { type Holdings, holdingsOf, leftOver } from './object-sizes.ts';
import { leaseMs, type Oracles } from './oracles.ts';
import type { PlainCalls } from './plain-calls.ts';
import type { Random } from './random.ts';
import type { SimProcess, World } from './world.ts';

/** New calls get the last one. */
export const usualReleases: readonly Release[] = [{ version: 'two' }, { version: 'one' }];

/** Who may call, and with which token. */
export const tokens = {
  ada: 'ada-has-a-token-nobody-can-guess',
  bob: 'bob-has-a-token-nobody-can-guess',
  eve: 'eve-has-a-token-nobody-can-guess',
} as const;
export type OwnerName = 'ada' | 'bob';

/** Replaces the stored body of a damaged task. */
const damaged = '{"damaged';

export interface SimServer {
  process: SimProcess;
  /** Under which others know it. */
  name: string | undefined;
  readonly state: StoreState;
  readonly feed: { lateMs: number; repeats: boolean };
  tasks: Tasks | undefined;
  handler: McpHandler | undefined;
  /** What it is to run, from its next start on. */
  releases: readonly Release[];
  /** What it runs now. */
  running: readonly Release[];
  killAt: CrashPoint | undefined;
  downMs: number;
  /** What holds something in this process, and how much it held before there was any work. */
  holders: object | undefined;
  atRest: Holdings | undefined;
}

export class Servers {
  readonly world: World;
  readonly database: SimDatabase;
  readonly network: Network;
  readonly witness: Oracles;
  readonly plainCalls: PlainCalls;
  readonly servers: SimServer[] = [];
  readonly #random: Random;
  /** To look at what a process holds takes longer than to simulate it: it is done in some seeds only. */
  readonly #isWeighed: boolean;
  #starts = 0;

  constructor(parts: {
    world: World;
    database: SimDatabase;
    network: Network;
    witness: Oracles;
    plainCalls: PlainCalls;
  }) {
    this.plainCalls = parts.plainCalls;
    this.world = parts.world;
    this.database = parts.database;
    this.network = parts.network;
    this.witness = parts.witness;
    this.#random = parts.world.random();
    this.#isWeighed = parts.world.seed % 20 === 0;
    onCrashPoint((point) => this.#reached(point));
  }

  start(count: number): void {
    for (let n = 0; n < count; n++) {
      const server: SimServer = {
        process: this.world.process(`server ${n}`),
        name: undefined,
        state: { fails: undefined, slowMs: 0, losesAnswers: 0 },
        feed: { lateMs: 0, repeats: false },
        tasks: undefined,
        handler: undefined,
        releases: usualReleases,
        running: usualReleases,
        killAt: undefined,
        downMs: 0,
        holders: undefined,
        atRest: undefined,
      };
      this.servers.push(server);
      this.#boot(server);
    }
    this.network.balance('localhost', () =>
      this.#alive().map((server) => {
        const { process, handler } = server;
        const answer = handler!.fetch;
        return { process, handler: (request) => this.plainCalls.serve(request, server, answer) };
      }),
    );
  }

  kill(server: SimServer, downMs: number): void {
    if (server.process.isDead) return;
    this.witness.note(`${server.process.name} is killed`);
    server.process.kill();
    server.tasks = server.handler = server.holders = undefined;
    server.killAt = undefined;
    this.world.fromOutside(() => {
      this.world.outside.setTimer(() => this.#restart(server), downMs);
    });
  }

  /** Ends one of the servers in good order, and starts it with other handlers; after so long it is as before. */
  deploy(server: SimServer, releases: readonly Release[], ms: number): void {
    server.releases = releases;
    this.#replace(server);
    this.world.outside.setTimer(() => {
      server.releases = usualReleases;
      this.#replace(server);
    }, ms);
  }

  /** Damages what is stored of a task, and restores it after so long. */
  damage(draw: number, ms: number): void {
    const rows = this.database.outside
      .prepare(`select seq, id, body from tasks where ended_at is null and body <> '${damaged}'`)
      .all();
    if (rows.length === 0) return;
    const row = rows[Math.floor(draw * rows.length)]! as { seq: number; id: string; body: string };
    this.witness.damaged(row.id, true);
    const write = this.database.outside.prepare('update tasks set body = ? where seq = ?');
    write.run(damaged, row.seq);
    this.world.outside.setTimer(() => {
      write.run(row.body, row.seq);
      this.witness.damaged(row.id, false);
    }, ms);
  }

  /** Once nothing is left to do, nothing is held for it. */
  weigh(): void {
    for (const { process, holders, atRest } of this.servers)
      if (holders && atRest)
        for (const held of leftOver(atRest, holdingsOf(holders)))
          this.witness.complain(`${process.name}: ${held}`);
  }

  #alive(): SimServer[] {
    return this.servers.filter(({ process, handler }) => !process.isDead && handler);
  }

  #replace(server: SimServer): void {
    const { process, tasks } = server;
    if (process.isDead || !tasks) return;
    this.witness.note(`${process.name} is replaced`);
    server.handler = undefined;
    process.receive(() => {
      void tasks
        .close()
        .catch(() => {})
        .then(() => process.receive(() => this.kill(server, 1), 1));
    }, 1);
  }

  #restart(server: SimServer): void {
    const offset = server.process.clockOffsetMs;
    server.process = this.world.process(`${server.process.name.split("'")[0]}'${++this.#starts}`);
    server.process.clockOffsetMs = offset;
    this.#boot(server);
  }

  #boot(server: SimServer): void {
    const { process, releases } = server;
    server.running = releases;
    const boot = async () => {
      let opened: Database | undefined;
      const tasks = createTasks({
        store: async () => {
          const database = this.database.open(process, server.feed);
          opened = database;
          const { name } = database.queue;
          server.name = name;
          return faulty(database, server.state, (claims) =>
            this.witness.renewed(
              name,
              claims.map(({ taskId }) => taskId),
            ),
          );
        },
        tools: [
          hurry,
          ...releases.map((release) => player(this.witness, release, () => this.kill(server, 500))),
        ],
        drafts: ['sep-1686', 'sep-2229', 'sep-2268', 'sep-2339'],
      });
      await tasks.work({ concurrency: this.#random.between(2, 6), lease: leaseMs, watchdog: 'off' });
      await tasks.subscribe((notice) => this.witness.heard(process, notice));
      server.tasks = tasks;
      const auth = staticTokens(
        Object.fromEntries(Object.entries(tokens).map(([name, token]) => [token, { clientId: name }])),
      );
      server.handler = new McpHandler(
        tasks,
        () => {
          const mcp = new McpServer({ name: 'simulated', version: '1' }, {});
          tasks.attach(mcp, { plainClients: { window: '3s', windowWithProgress: '5s' } });
          return mcp;
        },
        { auth },
      );
      // While it started, it was told to run something else.
      if (server.releases !== releases) this.#replace(server);
      if (!this.#isWeighed) return;
      server.holders = { tasks, handler: server.handler, database: opened, requests: await tasks.requests() };
      server.atRest = holdingsOf(server.holders);
    };
    process.receive(() => {
      boot().catch((error) => {
        this.witness.note(`${process.name} could not start: ${error}`);
        this.kill(server, 1_000);
      });
    }, 1);
  }

  /** At places in a commit: a process may die there, and what is durable is looked at. */
  #reached(point: CrashPoint): void {
    const { current } = this.world;
    if (current.isDead) throw new Error('The process is dead.');
    if (point === 'commit: durable') this.witness.committed();
    const server = this.servers.find(({ process }) => process === current);
    if (server?.killAt !== point) return;
    this.witness.note(`${current.name} dies at "${point}"`);
    this.kill(server, server.downMs);
    throw new Error('The process is dead.');
  }
}
