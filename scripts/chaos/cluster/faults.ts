/** What is done to a cluster while it works, drawn from a seed. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../../test/chaos/random.ts';
import { type HistoryFile, isInStep, moment } from './history.ts';
import type { Member, Members } from './members.ts';
import type { Place } from './place.ts';

export interface FaultPlan {
  /** Of workers and servers, with `kill -9`. */
  readonly kills: number;
  /** Of the database, in the middle. */
  readonly restarts: number;
  /** Workers that are stopped for longer than their heartbeat, one after the other, and then continued. */
  readonly stops: number;
}

/** Past the heartbeat by which alone the others can tell, and past the time within which they must have. */
const stoppedMs = 17_000;
/** Long enough after a kill for a take-over that nothing disturbs. */
const calmMs = 6_000;

export class Faults {
  cuts = 0;
  restarts = 0;
  stops = 0;
  readonly #members: Members;
  readonly #place: Place;
  readonly #random: Random;
  readonly #history: HistoryFile;
  readonly #folder: string;

  constructor(members: Members, place: Place, random: Random, history: HistoryFile, folder: string) {
    this.#folder = folder;
    this.#members = members;
    this.#place = place;
    this.#random = random;
    this.#history = history;
  }

  async unleash({ kills, restarts, stops }: FaultPlan, tell: () => void): Promise<void> {
    for (let stopped = 0; this.#members.kills < kills; tell()) {
      const share = this.#members.kills / kills;
      if (this.#place.restart && this.restarts < restarts && share >= (this.restarts + 1) / (restarts + 1))
        await this.#restart();
      if (stopped < stops && share >= (stopped + 0.5) / stops) {
        stopped++;
        await this.#stopOne();
      }
      await pause(this.#random.between(200, 1_200));
      if (this.cuts === 0 || this.#random.chance(0.4)) await this.#cut();
      await this.#kill(kills - this.#members.kills);
    }
  }

  async #kill(left: number): Promise<void> {
    const random = this.#random;
    const members = this.#members;
    const workers = members.of('worker');
    const downMs = random.between(0, 800);
    const kind = random.next();
    if (members.kills === 1 || (members.kills > 1 && kind < 0.3))
      return members.kill([random.oneOf(members.of('server'))], downMs);
    if (kind < 0.4 && left >= workers.length) return members.kill(workers, downMs);
    // Now and then nothing else happens until the work must have gone on elsewhere, without the one that was killed.
    const isCalm = members.kills === 0 || random.chance(0.3);
    return members.kill([await this.#busyWorker()], isCalm ? calmMs : downMs);
  }

  /** One that is in the middle of a step, if there is any within a while. */
  async #busyWorker(): Promise<Member> {
    for (let look = 0; ; look++) {
      const worker = this.#random.oneOf(this.#members.of('worker'));
      if (look === 100 || isInStep(this.#folder, worker.name)) return worker;
      await pause(20);
    }
  }

  async #cut(): Promise<void> {
    const from = moment();
    const connections = await this.#place.cut?.(this.#random);
    if (!connections) return;
    this.cuts += connections;
    this.#history.add({ what: 'cut', from, at: moment(), connections });
  }

  async #restart(): Promise<void> {
    this.restarts++;
    const from = moment();
    await this.#place.restart!();
    this.#history.add({ what: 'restarted', from, at: moment() });
    await pause(this.#random.between(500, 2_000));
  }

  async #stopOne(): Promise<void> {
    const worker = await this.#busyWorker();
    this.stops++;
    this.#members.stop(worker);
    await pause(stoppedMs);
    this.#members.continue(worker);
    await pause(1_000);
  }
}
