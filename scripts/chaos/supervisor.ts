/** Keeps voyages running, kills workers at random times, and finally lets everything finish. */
import { setTimeout as pause } from 'node:timers/promises';
import { createTasks, type TaskId, type Tasks } from '../../src/index.ts';
import type { SqliteDatabase } from '../../src/sqlite.ts';
import { type Random, seededRandom } from '../../test/kit/random.ts';
import type { ChildOptions } from './child-process.ts';
import { Creations } from './creations.ts';
import { maxResumeMs } from './judge.ts';
import { Responder } from './responder.ts';
import { chaosTools } from './tools.ts';
import { Workers } from './workers.ts';

/** Voyages at the same time. */
const concurrentVoyages = 16;
const workers = 2;
const finishWithinMs = 60_000;
/** A single kill takes much less time; if not, something hangs. */
const maxDisturbanceMs = 60_000;

export interface Progress {
  readonly kills: number;
  readonly voyages: number;
  readonly finished: number;
}

export class Supervisor {
  readonly workers: Workers;
  readonly creations: Creations;
  readonly responder: Responder;
  deploys = 0;
  readonly #tasks: Tasks;
  readonly #random: Random;
  readonly #finished = new Set<TaskId>();
  readonly #ordering: NodeJS.Timeout;

  constructor(database: SqliteDatabase, options: ChildOptions, seed: number) {
    const random = (salt: number) => seededRandom(seed * 8 + salt);
    const { voyage, leg, crew } = chaosTools(options);
    this.#random = random(0);
    this.#tasks = createTasks({ store: database, tools: [voyage, leg, crew] });
    this.responder = new Responder(this.#tasks, random(1));
    database.store.subscribe((change) => {
      this.responder.onChange(change);
      if (change.events.some(({ type }) => type === 'finished')) this.#finished.add(change.taskId);
    });
    this.workers = new Workers(options, workers);
    this.creations = new Creations({
      tasks: this.#tasks,
      tool: voyage,
      options,
      random: random(2),
      created: (id) => this.responder.welcome(id),
    });
    this.#ordering = setInterval(() => this.#keepBusy(), 60);
  }

  get progress(): Progress {
    const finished = [...this.creations.acknowledged.values()].filter((id) => this.#finished.has(id)).length;
    return { kills: this.workers.kills, voyages: this.creations.ordered, finished };
  }

  /** Kills workers until there were `kills` kills, and reports progress in between. */
  async disturb(kills: number, onProgress: (progress: Progress) => void): Promise<void> {
    await pause(1_000);
    while (this.workers.kills < kills) {
      const disturbance = this.#disturb(kills - this.workers.kills);
      const outcome = await Promise.race([disturbance, pause(maxDisturbanceMs, 'late', { ref: false })]);
      if (outcome === 'late') throw new Error('A killed process did not exit within a minute.');
      onProgress(this.progress);
    }
  }

  /** Waits until all ordered voyages have finished, and stops the workers. */
  async finish(): Promise<void> {
    clearInterval(this.#ordering);
    this.responder.noMoreKills();
    for (const started = Date.now(); !this.#isAllFinished(); await pause(50))
      if (Date.now() - started > finishWithinMs) break;
    await this.workers.stopAll();
  }

  async close(): Promise<void> {
    clearInterval(this.#ordering);
    this.responder.close();
    await this.workers.killAll();
    await this.creations.close();
  }

  async #disturb(killsLeft: number): Promise<void> {
    const random = this.#random;
    await pause(random.between(150, 1_100));
    if (random.chance(0.1)) await this.creations.killCreator();
    const index = random.between(0, this.workers.size - 1);
    if (random.chance(0.1)) {
      this.deploys++;
      return this.workers.deploy(index);
    }
    const all = random.chance(0.25) && killsLeft >= this.workers.size;
    const killed = all ? Array.from({ length: this.workers.size }, (_, each) => each) : [index];
    const downMs = random.chance(0.5) ? 0 : random.between(0, 600);
    await this.workers.kill(killed, async () => {
      await this.responder.expectAllOpen();
      this.responder.afterKill();
      await pause(downMs);
    });
    await this.responder.expectAllOpen();
    // Otherwise the next kill would often come before the time to resume can be measured.
    if (all && random.chance(0.7)) await this.#workResumes();
  }

  /** Waits for the next commit of a step, up to the time by which it is due. */
  async #workResumes(): Promise<void> {
    const recorded = Promise.withResolvers<void>();
    const stop = await this.#tasks.subscribe(({ events }) => {
      if (events.some(({ type }) => type === 'recorded')) recorded.resolve();
    });
    await Promise.race([recorded.promise, pause(maxResumeMs * 1.5, undefined, { ref: false })]);
    stop();
  }

  #keepBusy(): void {
    const { voyages, finished } = this.progress;
    if (voyages - finished < concurrentVoyages) this.creations.order();
  }

  #isAllFinished(): boolean {
    const { voyages, finished } = this.progress;
    return voyages === finished;
  }
}
