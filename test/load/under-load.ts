/** The parent's side of `server.ts`. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, vi } from 'vitest';
import { Peer } from './peer.ts';
import type { Answers, Asked, Held, Said, Settings } from './server.ts';

export const waysToStop = {
  SIGTERM: (server: ServerUnderLoad) => void server.process.kill('SIGTERM'),
  'stop()': (server: ServerUnderLoad) => void server.ask('stop'),
};

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const defaults: Settings = {
  face: 'http',
  store: 'memory:',
  concurrency: 64,
  grace: '10s',
  lookMs: 0,
  readMs: 0,
  hasEverything: false,
  hasLimits: false,
  errors: 'printed',
};

export class ServerUnderLoad {
  readonly process: ChildProcess;
  readonly exit: Promise<Exit>;
  /** What it wrote to standard error: nothing, if all goes well. */
  complaints = '';
  #url = '';
  #asked = 0;
  readonly #pending = new Map<number, (value: never) => void>();
  readonly #isReady: Promise<void>;

  /** Resolves when it takes requests. It ends with the test at the latest. */
  static async start(settings: Partial<Settings> = {}): Promise<ServerUnderLoad> {
    const server = new ServerUnderLoad({ ...defaults, ...settings });
    await server.#isReady;
    return server;
  }

  private constructor(settings: Settings) {
    const child = fork(join(import.meta.dirname, 'server.ts'), [JSON.stringify(settings)], {
      execArgv: ['--conditions=holdfast-source', '--expose-gc', '--disable-warning=ExperimentalWarning'],
      stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
    });
    this.process = child;
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.complaints += text;
    });
    // Not its exit: what it wrote last may still be on the way.
    this.exit = once(child, 'close').then(([code, signal]) => ({ code, signal }));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#isReady = promise;
    child.on('message', (said: Said) => {
      if ('ready' in said) {
        this.#url = said.ready;
        return resolve();
      }
      this.#pending.get(said.n)!(said.value as never);
      this.#pending.delete(said.n);
    });
    child.on('exit', () => reject(new Error(`The server ended before it was ready. ${this.complaints}`)));
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await this.exit;
    });
  }

  get url(): string {
    return this.#url;
  }

  /** What it holds when nobody is connected and nothing runs, once everything that is made on first use is there. */
  async atRest(): Promise<Held> {
    const peer = new Peer(this.url);
    const { taskId } = await peer.call('ask_name');
    const stream = await peer.listen([taskId]);
    await stream.until(({ latest }) => latest.get(taskId)?.status === 'input_required');
    await peer.update(taskId, { name: { action: 'decline' } });
    await stream.until(({ latest }) => latest.get(taskId)?.status === 'completed');
    peer.close();
    stream.close();
    // Passes linger for a tenth of a second.
    await expect.poll(() => this.ask('held')).toMatchObject({ connections: 0, watchers: 0 });
    await pause(200);
    return this.ask('held');
  }

  /** Resolves once it holds what it held before, and not a listener more. */
  async isBackAt({ timers, ...rest }: Held): Promise<void> {
    await vi.waitFor(
      async () => {
        const { timers: now, ...held } = await this.ask('held');
        expect(held).toEqual(rest);
        // The rounds of the worker and of the http module come and go.
        expect(now).toBeLessThan(timers + 4);
      },
      { timeout: 60_000 },
    );
  }

  ask<Q extends keyof Answers>(question: Q): ReturnType<Answers[Q]> {
    const asked: Asked = { n: ++this.#asked, question };
    const { promise, resolve } = Promise.withResolvers();
    this.#pending.set(asked.n, resolve);
    this.process.send(asked);
    return promise as ReturnType<Answers[Q]>;
  }
}
