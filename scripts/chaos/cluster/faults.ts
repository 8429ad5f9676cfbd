/** The faults of a cluster, generated from a seed. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../../test/kit/random.ts';
import { type HistoryFile, isInStep, moment } from './history.ts';
import type { Member, Members } from './members.ts';
import type { Place } from './place.ts';

/** How often each fault happens. */
export interface FaultPlan {
  /** Of workers and servers, with `kill -9`. */
  readonly kills: number;
  /** Crashes and restarts of the database. */
  readonly restarts: number;
  /** Workers that are stopped with SIGSTOP for about their lease or longer, and then continued. */
  readonly stops: number;
  /** Workers whose event loop is blocked for the same time. */
  readonly blocks: number;
  /** Wall clocks of one or all processes that are wrong by an hour or a day for a while. */
  readonly jumps: number;
}

type Kind = keyof FaultPlan;

interface Parts {
  readonly members: Members;
  readonly place: Place;
  readonly random: Random;
  readonly history: HistoryFile;
  readonly folder: string;
  readonly leaseMs: number;
}

/** Long enough for an undisturbed take-over after a kill. */
const calmMs = 6_000;
const hourMs = 3_600_000;
const kinds = ['kills', 'restarts', 'stops', 'blocks', 'jumps'] as const;

export class Faults {
  cuts = 0;
  restarts = 0;
  stops = 0;
  blocks = 0;
  jumps = 0;
  readonly #parts: Parts;
  /** Faults in progress. */
  readonly #lasting = new Set<Promise<void>>();
  #jumping: Promise<void> = Promise.resolve();
  /** The offset of all clocks. It only grows, so that every sleep ends within the run. */
  #clockMs = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async unleash(plan: FaultPlan, onProgress: () => void): Promise<void> {
    const { random } = this.#parts;
    for (let kind = this.#next(plan); kind; kind = this.#next(plan), onProgress()) {
      await pause(random.between(200, 1_200));
      if (this.cuts === 0 || random.chance(0.4)) await this.#cut();
      if (kind === 'kills') await this.#kill(plan.kills - this.#parts.members.kills);
      if (kind === 'restarts') await this.#restart();
      if (kind === 'stops') await this.#stall('stop');
      if (kind === 'blocks') await this.#stall('block');
      if (kind === 'jumps') await this.#jump();
    }
    await Promise.all(this.#lasting);
  }

  /** A random kind, weighted by the number of faults left. */
  #next(plan: FaultPlan): Kind | undefined {
    const { members, place, random } = this.#parts;
    const left = kinds.flatMap((kind) => {
      if (kind === 'restarts' && !place.restart) return [];
      const done = kind === 'kills' ? members.kills : this[kind];
      return Array.from({ length: Math.max(0, plan[kind] - done) }, () => kind);
    });
    return left.length > 0 ? random.oneOf(left) : undefined;
  }

  async #kill(left: number): Promise<void> {
    const { members, random } = this.#parts;
    const workers = members.of('worker');
    const downMs = random.between(0, 800);
    const kind = random.next();
    if (members.kills === 1 || (members.kills > 1 && kind < 0.3))
      return members.kill([random.oneOf(members.of('server'))], downMs);
    if (kind < 0.4 && left >= workers.length) return members.kill(workers, downMs);
    // Sometimes nothing else happens until another worker must have taken over.
    const isCalm = members.kills === 0 || random.chance(0.3);
    return members.kill([await this.#busyWorker()], isCalm ? calmMs : downMs);
  }

  /** A worker in the middle of a step, if one is found in time. */
  async #busyWorker(): Promise<Member> {
    const { members, random, folder } = this.#parts;
    for (let attempt = 0; ; attempt++) {
      const worker = random.oneOf(members.of('worker'));
      if (attempt === 100 || (!worker.isStalled && isInStep(folder, worker.name))) return worker;
      await pause(20);
    }
  }

  async #cut(): Promise<void> {
    const { place, random, history } = this.#parts;
    const from = moment();
    const connections = await place.cut?.(random);
    if (!connections) return;
    this.cuts += connections;
    history.add({ what: 'cut', from, at: moment(), connections });
  }

  async #restart(): Promise<void> {
    const { place, random, history } = this.#parts;
    this.restarts++;
    const from = moment();
    await place.restart!();
    history.add({ what: 'restarted', from, at: moment() });
    await pause(random.between(500, 2_000));
  }

  async #stall(how: 'stop' | 'block'): Promise<void> {
    const { members, random, leaseMs } = this.#parts;
    const worker = await this.#busyWorker();
    if (how === 'stop') this.stops++;
    else this.blocks++;
    if (worker.isStalled) return;
    await this.#lasts(members.stall(worker, how, random.between(0.5 * leaseMs, 3 * leaseMs)));
  }

  /**
   * After a clock runs fast, all others are set to it. A clock that runs slow is corrected. So the wake-up time of a
   * task is never an hour away when the clocks agree again.
   */
  async #jump(): Promise<void> {
    const { members, random, leaseMs } = this.#parts;
    await this.#jumping;
    this.jumps++;
    const ms = random.oneOf([1, -1, 24, -24]) * hourMs;
    const some = random.chance(0.5) ? [random.oneOf(members.all)] : undefined;
    const lastsMs = random.between(0.5 * leaseMs, 2 * leaseMs);
    const jump = async () => {
      members.moveClocks(this.#clockMs + ms, some);
      this.#clockMs += Math.max(0, ms);
      await pause(lastsMs);
      members.moveClocks(this.#clockMs);
    };
    this.#jumping = jump();
    await this.#lasts(this.#jumping);
  }

  /** Waits for the end of a fault, or lets others happen at the same time. */
  async #lasts(fault: Promise<void>): Promise<void> {
    const lasting: Promise<void> = fault.finally(() => this.#lasting.delete(lasting));
    this.#lasting.add(lasting);
    if (this.#parts.random.chance(0.5)) await lasting;
  }
}
