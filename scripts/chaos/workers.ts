/** The worker processes: starts, kills, replaces and finally stops them. */
import { setTimeout as pause } from 'node:timers/promises';
import { Child } from '../../test/kit/child.ts';
import type { Exit } from '../../test/kit/process.ts';
import type { ChildMessage } from './child-messages.ts';
import type { ChildOptions } from './child-process.ts';
import type { Life } from './lives.ts';
import type { Problem } from './problem.ts';

interface Worker {
  readonly child: Child<ChildMessage>;
  readonly life: Life;
}

/** The replacement of one or more workers. */
export interface Restart {
  readonly at: number;
  /** No other worker was alive. */
  readonly afterAll: boolean;
  /** The new workers. */
  readonly lives: readonly Life[];
}

const maxStopMs = 15_000;

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

  /** Kills these workers at once. `between` runs after their exit and before their replacement. */
  async kill(indexes: readonly number[], between: () => Promise<void>): Promise<void> {
    const killed = indexes.map((index) => this.#workers[index]!);
    const exits = killed.map(({ child, life }) => {
      life.killedAt = Date.now();
      return child.kill();
    });
    for (const [index, exit] of (await Promise.all(exits)).entries())
      this.#gone(killed[index]!, exit, 'SIGKILL');
    await between();
    this.#replace(indexes);
  }

  /** Like a deploy: the worker stops and releases its tasks, then another one starts. */
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
    const child = new Child<ChildMessage>(import.meta.resolve('./worker.ts'), this.#options, (message) => {
      if (message.kind === 'ready') {
        life.pid = message.pid;
        life.readyAt = Date.now();
      }
      if (message.kind === 'failed') this.#complain(`A worker failed: ${message.error}`);
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
    const exit = await Promise.race([worker.child.exit, pause(maxStopMs, undefined, { ref: false })]);
    this.#gone(worker, exit ?? (await worker.child.kill()), null);
  }

  #gone({ child, life }: Worker, { code, signal }: Exit, expected: 'SIGKILL' | null): void {
    life.goneAt = Date.now();
    if (signal === expected && (expected !== null || code === 0)) return;
    this.#complain(
      `A worker ended with code ${code} and signal ${signal} instead of ${expected ?? 'stopping on request'}. ${child.complaints}`,
    );
  }

  #complain(text: string): void {
    this.problems.push({ kind: 'broken', text });
  }
}
