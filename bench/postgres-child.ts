/** The workers of the Postgres suite, from the side of whoever started them. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Said, WorkerPlan } from './postgres-worker.ts';

export class WorkerProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(plan: WorkerPlan): Promise<WorkerProcess> {
    const worker = new WorkerProcess(fork(join(import.meta.dirname, 'postgres-worker.ts')));
    worker.#child.send(plan);
    await worker.#until(({ said }) => said === 'ready');
    return worker;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Resolves when so many tasks more are done. */
  async done(total: number): Promise<void> {
    this.#child.send({ total });
    await this.#until(({ said }) => said === 'done');
  }

  /** When the handlers of tasks begin. */
  onBegan(listener: (id: string, atMs: number) => void): void {
    this.#child.on('message', (message: Said) => {
      if (message.said === 'began') listener(message.id, message.atMs);
    });
  }

  async stop(): Promise<void> {
    if (!this.#child.connected) return;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }

  async #until(isIt: (said: Said) => boolean): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const hear = (message: Said) => {
        if (!isIt(message)) return;
        this.#child.off('message', hear);
        this.#child.off('exit', fail);
        resolve();
      };
      const fail = (code: number) => reject(new Error(`A worker of the benchmark ended with ${code}.`));
      this.#child.on('message', hear);
      this.#child.on('exit', fail);
    });
  }
}
