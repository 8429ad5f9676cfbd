/** Upstreams and commands on one side, durable tools for every generation of clients on the other. */
import type { TasksOptions as EngineOptions } from '../engine/tasks-options.ts';
import { within } from '../model/timeout.ts';
import { handOverSettings } from '../server/hand-over/options.ts';
import { createTasks, type Tasks } from '../server/tasks.ts';
import { Catalogue } from './catalogue.ts';
import { commandTool } from './command.ts';
import type { Config } from './config.ts';
import { UpstreamUnreachable } from './endings.ts';
import { Face } from './face.ts';
import type { KeptLists } from './kept-lists.ts';
import { SessionLogs } from './logs.ts';
import { Programs } from './programs.ts';
import { relayTool } from './relay.ts';
import { Upstream } from './upstream.ts';

export interface GatewayOptions extends Pick<EngineOptions, 'store' | 'log' | 'telemetry'> {
  readonly config: Config;
  /** How the gateway introduces itself. */
  readonly version: string;
  /** How long clients wait at first for upstreams that have not answered. Default 30 s. */
  readonly startMs?: number;
  /** Where it is remembered what upstreams list. By default nowhere. */
  readonly lists?: KeptLists;
  /** What commands see of the environment of this process. By default all of it but Holdfast's own settings. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Hears of upstreams that cannot be reached. */
  readonly onTrouble?: (trouble: Error) => void;
}

/** A call that waits for an upstream holds a place of a worker, and nothing else. */
const callsAtOnce = 1_000;

export class Gateway implements AsyncDisposable {
  readonly tasks: Tasks;
  readonly face: Face;
  /** Resolves when every upstream has answered, or has had its time to, or nobody waits any more. */
  readonly settled: Promise<void>;
  readonly #upstreams: readonly Upstream[];
  readonly #programs: Programs;
  readonly #closing = new AbortController();

  constructor({
    config,
    version,
    startMs = 30_000,
    lists,
    environment,
    onTrouble,
    ...options
  }: GatewayOptions) {
    this.#programs = new Programs(environment);
    const { plainClients } = config;
    const reserved = handOverSettings({ plainClients });
    const events = {
      changed: (upstream: Upstream) => {
        lists?.set(upstream.name, upstream.listed);
        catalogue.refresh();
        this.face.changed();
      },
      failed: ({ name }: Upstream, why: string) => onTrouble?.(new UpstreamUnreachable(name, why)),
      notified: (...told: Parameters<Face['notified']>) => this.face.notified(...told),
    };
    const sessionLogs = new SessionLogs();
    const configured = Object.entries(config.upstreams);
    const isAlone = configured.length === 1;
    const upstreams = configured.map(
      ([name, upstream]) =>
        new Upstream(name, upstream, { version, events, listed: lists?.get(name), sessionLogs, isAlone }),
    );
    sessionLogs.onWish = () => {
      for (const { logs } of upstreams) void logs.ask();
    };
    const relays = new Map(upstreams.map((upstream) => [upstream, relayTool(upstream)]));
    const commands = Object.entries(config.commands).map(([name, command]) =>
      commandTool(name, command, this.#programs),
    );
    const catalogue = new Catalogue(relays, commands, reserved ? Object.values(reserved.names) : []);
    this.#upstreams = upstreams;
    this.tasks = createTasks({
      ...options,
      tools: [...relays.values(), ...commands],
      // Nobody is told of a task but by its id, and how long it is kept is for the config to say.
      anonymousRetention: '30d',
      limits: config.limits,
      toolNamed: (name, input) => catalogue.called(name, input),
    });
    this.settled = settledWithin(upstreams, startMs, this.#closing.signal);
    this.face = new Face({
      tasks: this.tasks,
      catalogue,
      upstreams,
      sessionLogs,
      version,
      plainClients,
      settled: this.settled,
    });
  }

  /** Begins to carry tasks out, those of an earlier process among them. */
  async work(concurrency = callsAtOnce): Promise<void> {
    // Whether a call may be repeated is said by the upstream that it was made to.
    await this.settled;
    // Closed tasks would be opened again by a worker.
    if (this.#closing.signal.aborted) return;
    await this.tasks.work({ concurrency, watchdog: 'exit' });
  }

  /** After whatever serves it has stopped: lets go of the upstreams. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.tasks.close();
    await this.#programs.close();
    await Promise.all(this.#upstreams.map((upstream) => upstream.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

async function settledWithin(
  upstreams: readonly Upstream[],
  ms: number,
  closing: AbortSignal,
): Promise<void> {
  const begun = upstreams.map((upstream) => [upstream, upstream.start()] as const);
  // What is known of an earlier start need not be waited for.
  const unknown = begun.flatMap(([{ isKnown }, started]) => (isKnown ? [] : [started]));
  await within(ms, Promise.all(unknown), closing);
}
