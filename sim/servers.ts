/** The servers of a simulation: each is a process with tasks, worker and HTTP handler. All share one database. */
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

/** New calls use the last one. */
export const usualReleases: readonly Release[] = [{ version: 'two' }, { version: 'one' }];

/** The callers and their tokens. */
export const tokens = {
  ada: 'ada-has-a-token-nobody-can-guess',
  bob: 'bob-has-a-token-nobody-can-guess',
  eve: 'eve-has-a-token-nobody-can-guess',
} as const;
export type OwnerName = 'ada' | 'bob';

/** Replaces the stored body of a corrupt task. */
const corruptBody = '{"damaged';

export interface SimServer {
  process: SimProcess;
  /** Its name in the store. */
  name: string | undefined;
  readonly state: StoreState;
  readonly feed: { lateMs: number; repeats: boolean };
  tasks: Tasks | undefined;
  handler: McpHandler | undefined;
  /** The releases to run from the next start. */
  releases: readonly Release[];
  /** The releases that run now. */
  running: readonly Release[];
  killAt: CrashPoint | undefined;
  downMs: number;
  /** The objects of this process, and their sizes before any work. */
  objects: object | undefined;
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
  /** Measuring object sizes takes longer than the simulation, so only some seeds do it. */
  readonly #measuresObjects: boolean;
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
    this.#measuresObjects = parts.world.seed % 20 === 0;
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
        objects: undefined,
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
    server.tasks = server.handler = server.objects = undefined;
    server.killAt = undefined;
    this.world.fromOutside(() => {
      this.world.outside.setTimer(() => this.#restart(server), downMs);
    });
  }

  /** Restarts a server gracefully with other handlers, and with the usual ones after `ms`. */
  deploy(server: SimServer, releases: readonly Release[], ms: number): void {
    server.releases = releases;
    this.#replace(server);
    this.world.outside.setTimer(() => {
      server.releases = usualReleases;
      this.#replace(server);
    }, ms);
  }

  /** Corrupts the stored record of a task, and restores it after `ms`. */
  corrupt(draw: number, ms: number): void {
    const rows = this.database.outside
      .prepare(`select seq, id, body from tasks where ended_at is null and body <> '${corruptBody}'`)
      .all();
    if (rows.length === 0) return;
    const row = rows[Math.floor(draw * rows.length)]! as { seq: number; id: string; body: string };
    this.witness.setCorrupt(row.id, true);
    const write = this.database.outside.prepare('update tasks set body = ? where seq = ?');
    write.run(corruptBody, row.seq);
    this.world.outside.setTimer(() => {
      write.run(row.body, row.seq);
      this.witness.setCorrupt(row.id, false);
    }, ms);
  }

  /** After all work, the objects must be as small as before. */
  checkObjectSizes(): void {
    for (const { process, objects, atRest } of this.servers)
      if (objects && atRest)
        for (const leak of leftOver(atRest, holdingsOf(objects)))
          this.witness.complain(`${process.name}: ${leak}`);
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
      await tasks.subscribe((change) => this.witness.received(process, change));
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
      // Its releases may have changed during the start.
      if (server.releases !== releases) this.#replace(server);
      if (!this.#measuresObjects) return;
      server.objects = { tasks, handler: server.handler, database: opened, requests: await tasks.requests() };
      server.atRest = holdingsOf(server.objects);
    };
    process.receive(() => {
      boot().catch((error) => {
        this.witness.note(`${process.name} could not start: ${error}`);
        this.kill(server, 1_000);
      });
    }, 1);
  }

  /** Called at crash points of a commit: the process may die there, and durable commits are observed. */
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
