/** The parent's side of `server.ts`. */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { untilEnd } from '../../kit/lifetime.ts';
import { Program, sources } from '../../kit/process.ts';
import { Peer } from './peer.ts';
import type { Answers, Asked, Held, Said, Settings } from './server.ts';

export const waysToStop = {
  SIGTERM: (server: ServerUnderLoad) => void server.process.kill('SIGTERM'),
  'stop()': (server: ServerUnderLoad) => void server.ask('stop'),
};

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

export class ServerUnderLoad extends Program {
  url = '';
  readonly process = this.child;
  #asked = 0;
  readonly #pending = new Map<number, (value: never) => void>();
  readonly #ready = Promise.withResolvers<void>();

  /** Resolves when it takes requests. It ends with the test at the latest. */
  static async start(settings: Partial<Settings> = {}): Promise<ServerUnderLoad> {
    const server = untilEnd(new ServerUnderLoad({ ...defaults, ...settings }));
    await server.#ready.promise;
    return server;
  }

  private constructor(settings: Settings) {
    const flags = ['--expose-gc', '--disable-warning=ExperimentalWarning'];
    const program = join(import.meta.dirname, 'server.ts');
    super(sources(...flags, program, JSON.stringify(settings)), { stdio: ['pipe', 'pipe', 'pipe', 'ipc'] });
    this.child.on('message', (said: Said) => {
      if ('ready' in said) {
        this.url = said.ready;
        return this.#ready.resolve();
      }
      this.#pending.get(said.n)!(said.value as never);
      this.#pending.delete(said.n);
    });
    this.child.on('exit', () =>
      this.#ready.reject(new Error(`The server ended before it was ready. ${this.complaints}`)),
    );
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
