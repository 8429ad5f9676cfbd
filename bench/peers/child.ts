/** A process of `process.ts`, seen from its parent. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Setting, Workflow } from './adapter.ts';
import type { Message, Question, Sample } from './process.ts';

/** Longer than any system needs. */
const limitMs = 180_000;

export class PeerProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #begins = new Map<number, PromiseWithResolvers<number>>();

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (message: Message) => {
      if (message.kind === 'began') this.#begin(message.n).resolve(message.atMs);
    });
  }

  static async start(adapter: string, setting: Omit<Setting, 'began' | 'returned'>): Promise<PeerProcess> {
    const child = fork(join(import.meta.dirname, 'process.ts'), [adapter, JSON.stringify(setting)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, NODE_NO_WARNINGS: '1' },
    });
    const started = new PeerProcess(child);
    await started.#until('ready');
    return started;
  }

  /** Seconds from the first start to the last end. */
  async runAll(workflow: Workflow, count: number): Promise<number> {
    this.#ask({ run: 'all', workflow, count });
    return (await this.#until('all')).seconds;
  }

  async runOneByOne(samples: number, seconds: number): Promise<readonly Sample[]> {
    this.#ask({ run: 'one by one', samples, seconds });
    return (await this.#until('one by one')).samples;
  }

  /** When workflow number `n` started, on the clock that all processes share. */
  began(n: number): Promise<number> {
    return this.#begin(n).promise;
  }

  /** Ends the process in any case: some systems do not close their connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    const kill = setTimeout(() => this.#child.kill('SIGKILL'), 10_000);
    if (this.#child.connected) this.#child.disconnect();
    await ended;
    clearTimeout(kill);
  }

  #ask(question: Question): void {
    this.#child.send(question);
  }

  #begin(n: number): PromiseWithResolvers<number> {
    const known = this.#begins.get(n) ?? Promise.withResolvers<number>();
    this.#begins.set(n, known);
    return known;
  }

  #until<Kind extends Message['kind']>(kind: Kind): Promise<Extract<Message, { kind: Kind }>> {
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#child.off('message', take).off('exit', fail);
        clearTimeout(limit);
      };
      const take = (message: Message) => {
        if (message.kind !== kind) return;
        end();
        resolve(message as Extract<Message, { kind: Kind }>);
      };
      const fail = (code: number | null) => {
        end();
        reject(new Error(`its process ended with ${code}.`));
      };
      const limit = setTimeout(() => {
        end();
        this.#child.kill('SIGKILL');
        reject(new Error(`its process did not answer within ${limitMs / 1_000} s.`));
      }, limitMs);
      this.#child.on('message', take).on('exit', fail);
    });
  }
}
