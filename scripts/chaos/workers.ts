/** The worker processes: killed, replaced by others, and seen off at the end. */
import { setTimeout as pause } from 'node:timers/promises';
import { Child } from '../../test/kit/child.ts';
import type { Exit } from '../../test/kit/process.ts';
import type { ChildOptions } from './child-process.ts';
import type { Life } from './lives.ts';
import type { Problem } from './problem.ts';
import type { Said } from './said.ts';

interface Worker {
  readonly child: Child<Said>;
  readonly life: Life;
}

/** A moment at which a worker was started in the place of another. */
export interface Restart {
  readonly at: number;
  /** No other worker was alive. */
  readonly afterAll: boolean;
  /** Those that were started then. */
  readonly lives: readonly Life[];
}

const longestStopMs = 15_000;

export class Workers {
  readonly lives: Life[] = [];
  readonly restarts: Restart[] = [];
  readonly problems: Problem[] = [];
  readonly #options: ChildOptions;
  readonly #workers: Worker[];

  constructor(options: ChildOptions, size: number) {
    this.#options = options;
    this.#workers = Array.from({ length: size }, () => this.#start());
  }

  get size(): number {
    return this.#workers.length;
  }

  get kills(): number {
    return this.lives.filter(({ killedAt }) => killedAt !== undefined).length;
  }

  /** Kills these workers at once. `meanwhile` runs when they are gone and none has taken their place yet. */
  async kill(indexes: readonly number[], meanwhile: () => Promise<void>): Promise<void> {
    const killed = indexes.map((index) => this.#workers[index]!);
    const exits = killed.map(({ child, life }) => {
      life.killedAt = Date.now();
      return child.kill();
    });
    for (const [index, exit] of (await Promise.all(exits)).entries())
      this.#gone(killed[index]!, exit, 'SIGKILL');
    await meanwhile();
    this.#replace(indexes);
  }

  /** As a deploy does: the worker is told to stop and gives everything back, then another takes its place. */
  async deploy(index: number): Promise<void> {
    await this.#stop(this.#workers[index]!);
    this.#replace([index]);
  }

  async stopAll(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => this.#stop(worker)));
  }

  async killAll(): Promise<void> {
    await Promise.all(this.#workers.map(({ child }) => child.kill()));
  }

  #start(): Worker {
    const life: Life = { startedAt: Date.now() };
    this.lives.push(life);
    const child = new Child<Said>(import.meta.resolve('./worker.ts'), this.#options, (said) => {
      if (said.kind === 'ready') {
        life.pid = said.pid;
        life.readyAt = Date.now();
      }
      if (said.kind === 'failed') this.#complain(`A worker failed: ${said.error}`);
    });
    return { child, life };
  }

  #replace(indexes: readonly number[]): void {
    const started = indexes.map((index) => {
      this.#workers[index] = this.#start();
      return this.#workers[index].life;
    });
    this.restarts.push({
      at: started[0]!.startedAt,
      afterAll: indexes.length === this.#workers.length,
      lives: started,
    });
  }

  async #stop(worker: Worker): Promise<void> {
    worker.child.tell('stop');
    const exit = await Promise.race([worker.child.exit, pause(longestStopMs, undefined, { ref: false })]);
    this.#gone(worker, exit ?? (await worker.child.kill()), null);
  }

  #gone({ child, life }: Worker, { code, signal }: Exit, expected: 'SIGKILL' | null): void {
    life.goneAt = Date.now();
    if (signal === expected && (expected !== null || code === 0)) return;
    this.#complain(
      `A worker ended with code ${code} and signal ${signal} instead of ${expected ?? 'stopping when told to'}. ${child.complaints}`,
    );
  }

  #complain(text: string): void {
    this.problems.push({ kind: 'broken', text });
  }
}
