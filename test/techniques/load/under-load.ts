/** The parent's side of `server.ts`. */
import { on, once } from 'node:events';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { untilEnd } from '../../kit/lifetime.ts';
import { Program, sources } from '../../kit/process.ts';
import { Peer } from './peer.ts';
import { subscriptionId } from './protocol.ts';
import type { Answers, Held, Settings } from './server.ts';

export const waysToStop = {
  SIGTERM: (server: ServerUnderLoad) => void server.process.kill('SIGTERM'),
  'stop()': (server: ServerUnderLoad) => void server.ask('stop').catch(() => {}),
};

/** The answer with which a server ends a subscription. */
export function farewellTo(id: string | number): unknown {
  const _meta = expect.objectContaining({ [subscriptionId]: id });
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } };
}

export class ServerUnderLoad extends Program {
  url = '';
  readonly process = this.child;
  #asked = 0;

  /** Resolves when it takes requests. It ends with the test at the latest. */
  static async start(settings: Settings = {}): Promise<ServerUnderLoad> {
    const server = untilEnd(new ServerUnderLoad(settings));
    const ended = server.exit.then(() => {
      throw new Error(`The server ended before it was ready. ${server.complaints}`);
    });
    [server.url] = (await Promise.race([once(server.child, 'message'), ended])) as [string];
    return server;
  }

  private constructor(settings: Settings) {
    const flags = ['--expose-gc', '--disable-warning=ExperimentalWarning'];
    const program = join(import.meta.dirname, 'server.ts');
    super(sources(...flags, program, JSON.stringify(settings)), { stdio: ['pipe', 'pipe', 'pipe', 'ipc'] });
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
    await expect.poll(() => this.ask('held')).toMatchObject({ connections: 0, watchers: 0 });
    await expect.poll(() => this.ask('idle')).toBe(true);
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

  async ask<Q extends keyof Answers>(question: Q): Promise<Awaited<ReturnType<Answers[Q]>>> {
    const n = ++this.#asked;
    this.child.send({ n, question });
    for await (const [said] of on(this.child, 'message', { close: ['exit'] }))
      if (said.n === n) return said.value;
    throw new Error(`The server ended: ${this.complaints}`);
  }
}
