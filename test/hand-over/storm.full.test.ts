/**
 * Fifty clients without tasks on two servers with one Postgres. Servers are killed and started again, clients die and
 * come back, and some of the tools ask.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openPostgres } from '../../src/postgres.ts';
import { Peer } from '../dialects/revision-2025-11-25/peer.ts';
import { temporaryFolder } from '../kit/lifetime.ts';
import { type Random, seededRandom, seedOfThisRun } from '../kit/random.ts';
import type { ServerProcess } from '../kit/server-process.ts';
import { freshDatabase } from '../postgres/database.ts';
import { query } from '../postgres/server.ts';
import { chaptersIn, repeatedIn } from './ledgers.ts';
import { followed, type Result } from './script.ts';
import { startServer } from './server-process.ts';

const steps = 30;
const windowMs = 3_000;
const tokenOf = (name: string) => `${name}-has-a-token-that-nobody-guesses`;
const ownerOf = (name: string) => `token:["","","${name}"]`;

/** A host without tasks. It repeats a call that was lost, at whichever server, and knows nothing better. */
class Host {
  readonly name: string;
  readonly file: string;
  readonly asks: boolean;
  readonly #random: Random;
  readonly #servers: readonly ServerProcess[];
  #session: string | undefined;
  /** The server process that it called last. */
  #called: { readonly server: ServerProcess; readonly pid: number } | undefined;

  constructor(
    name: string,
    asks: boolean,
    folder: string,
    servers: readonly ServerProcess[],
    random: Random,
  ) {
    this.name = name;
    this.asks = asks;
    this.file = join(folder, name);
    this.#servers = servers;
    this.#random = random;
  }

  get input() {
    return { file: this.file, steps, delayMs: 100 + (this.name.length % 3) * 40, asks: this.asks };
  }

  /** Sends a call until it is answered. */
  async call(tool: string, input: object): Promise<Result> {
    for (let tries = 0; ; tries++)
      try {
        const { message } = await (await this.peer()).send('tools/call', { name: tool, arguments: input });
        if (!message.error) return message.result as Result;
        if (tries > 50) throw new Error(message.error.message);
      } catch (error) {
        if (tries > 50) throw error;
        await pause(this.#random.between(50, 1_500));
      }
  }

  /** In the session that it had before, if it had one. */
  async peer(): Promise<Peer> {
    const server = this.#random.oneOf(this.#servers);
    this.#called = { server, pid: server.pid };
    const { url } = server;
    const options = { capabilities: {}, protocolVersion: '2025-06-18', token: tokenOf(this.name) };
    const peer = new Peer(url.href, options);
    if (this.#session !== undefined) peer.sessionId = this.#session;
    else await peer.open();
    this.#session = peer.sessionId;
    return peer;
  }

  /** Whether the process that it called last was killed, and started again. */
  hasOutlivedItsServer(): boolean {
    return this.#called !== undefined && this.#called.server.pid !== this.#called.pid;
  }

  forgetSession(): void {
    this.#session = undefined;
  }
}

test('nothing is lost, and no finished step is repeated', { timeout: 300_000 }, async () => {
  const seed = seedOfThisRun();
  console.log(`HOLDFAST_SEED=${seed} repeats the random choices of this run.`);
  const random = seededRandom(seed);
  const folder = temporaryFolder();
  const { url: store, remove } = await freshDatabase();
  onTestFinished(remove);
  const names = Array.from({ length: 50 }, (_, n) => `host${'-'.repeat(n % 3)}${n}`);
  const tokens = Object.fromEntries(names.map((name) => [tokenOf(name), name]));
  await using first = await startServer({ store, tokens, handOver: windowMs });
  await using second = await startServer({ store, tokens, handOver: windowMs });
  const servers = [first, second];
  const hosts = names.map((name, n) => new Host(name, n % 4 === 0, folder, servers, random));

  /**
   * Loses its connection after the work has begun, and comes back as somebody new. On a busy machine the call may be
   * handed over before that: then it is not lost, and its answer is returned.
   */
  const crash = async (host: Host): Promise<Result | undefined> => {
    const cut = new AbortController();
    const call = { name: 'chapters', arguments: host.input };
    let sentAt = Number.POSITIVE_INFINITY;
    const send = async () => {
      const peer = await host.peer();
      sentAt = performance.now();
      return (await peer.send('tools/call', call, cut.signal)).message.result as Result | undefined;
    };
    const lost = send().catch(() => undefined);
    const begun = async () => {
      while (chaptersIn(host.file).length === 0) await pause(20);
      await pause(random.between(0, 800));
    };
    await Promise.race([lost, begun()]);
    if (performance.now() - sentAt < windowMs - 1_000) cut.abort();
    const answer = await lost;
    if (answer) return answer;
    host.forgetSession();
    // A call that is open is never joined: its server has to notice first, or to die.
    const open = `select 1 from holdfast.tasks where owner = '${ownerOf(host.name)}' and answering is not null`;
    await expect
      .poll(async () => host.hasOutlivedItsServer() || (await query(store, open)).length === 0)
      .toBe(true);
    return undefined;
  };
  const outcomes = hosts.map(async (host, n) => {
    let first = n % 4 === 1 ? await crash(host) : undefined;
    const call = async (tool: string, input: object) => {
      const answer = first ?? (await host.call(tool, input));
      first = undefined;
      return answer;
    };
    const { result } = await followed(call, 'chapters', host.input);
    return result.structuredContent;
  });
  for (let kills = 0; kills < 6; kills++) {
    await pause(random.between(500, 2_500));
    const server = random.oneOf(servers);
    await server.kill();
    await pause(random.between(50, 1_000));
    await server.start();
  }
  const results = await Promise.all(outcomes);
  for (const [n, { name, file, asks }] of hosts.entries()) {
    expect(results[n], name).toEqual({ steps, signedBy: asks ? 'Ada' : 'nobody' });
    const written = chaptersIn(file);
    expect({ name, repeated: repeatedIn(written), last: written.at(-1) }).toEqual({
      name,
      repeated: [],
      last: steps,
    });
  }
  const database = await openPostgres(store);
  onTestFinished(() => database.close());
  const { tasks } = await database.queries.list({ statuses: ['queued', 'running', 'waiting'], limit: 9 });
  expect(tasks).toEqual([]);
});

test('a call that its client cancels ends, and so do its steps', async () => {
  const folder = temporaryFolder();
  const { url: store, remove } = await freshDatabase();
  onTestFinished(remove);
  await using server = await startServer({ store, handOver: '1h' });
  const host = new Host('host', false, folder, [server], seededRandom(1));
  const peer = await host.peer();
  const call = { name: 'chapters', arguments: { ...host.input, steps: 10_000 } };
  const cut = new AbortController();
  const answered = peer.post({ id: 99, method: 'tools/call', params: call }, cut.signal);
  await expect.poll(() => chaptersIn(host.file).length).toBeGreaterThan(1);
  await peer.post({ method: 'notifications/cancelled', params: { requestId: 99 } });
  const database = await openPostgres(store);
  onTestFinished(() => database.close());
  const cancelled = async () => (await database.queries.list({ statuses: ['cancelled'], limit: 9 })).tasks;
  await expect.poll(async () => (await cancelled()).length).toBe(1);
  cut.abort();
  await answered.catch(() => {});
});
