/** The worker processes of the Postgres suite, seen from their parent. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { FromWorker, ToWorker, WorkerPlan } from './postgres-worker.ts';

/** Workers that share the same tasks. */
export class WorkerGroup {
  readonly #children: readonly ChildProcess[];

  private constructor(children: readonly ChildProcess[]) {
    this.#children = children;
  }

  static async start(plan: WorkerPlan, count: number): Promise<WorkerGroup> {
    const file = join(import.meta.dirname, 'postgres-worker.ts');
    const group = new WorkerGroup(Array.from({ length: count }, () => fork(file)));
    await Promise.all(
      group.#children.map(async (child) => {
        child.send(plan);
        await group.#failing(once(child, 'message'));
      }),
    );
    return group;
  }

  get pids(): readonly number[] {
    return this.#children.map(({ pid }) => pid!);
  }

  /** Runs the workers until they have completed this many tasks together. */
  async complete(total: number): Promise<void> {
    let left = total;
    const all = Promise.withResolvers<void>();
    const count = ({ completed }: FromWorker) => {
      left -= completed;
      if (left <= 0) all.resolve();
    };
    for (const child of this.#children) child.on('message', count);
    this.#send({ isActive: true });
    await this.#failing(all.promise);
    this.#send({ isActive: false });
    for (const child of this.#children) child.off('message', count);
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (!child.connected) return;
        const ended = once(child, 'exit');
        child.disconnect();
        await ended;
      }),
    );
  }

  #send(message: ToWorker): void {
    for (const child of this.#children) child.send(message);
  }

  /** Rejects if a worker ends first. */
  async #failing<T>(result: Promise<T>): Promise<T> {
    const ended = Promise.withResolvers<never>();
    const fail = (code: number | null) =>
      ended.reject(new Error(`A worker of the benchmark ended with ${code}.`));
    for (const child of this.#children) child.once('exit', fail);
    try {
      return await Promise.race([result, ended.promise]);
    } finally {
      for (const child of this.#children) child.off('exit', fail);
    }
  }
}
