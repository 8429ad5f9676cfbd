/**
 * The server of these tests, a process of its own: the tools of the fixture server and a talkative one. Over HTTP its
 * callers are told apart by their tokens. Its parent may ask what it holds, and tell it to stop.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { McpServerFactory } from '@modelcontextprotocol/server';
import { createTasks, type Database, type Duration } from 'holdfast';
import { serveHttp, serveStdio } from 'holdfast/server';
import { openSqlite } from 'holdfast/sqlite';
import { fixtureFactory, withoutLimits } from '../fixture/server.ts';
import { fixtureTools } from '../fixture/tools.ts';
import { chatter } from './chatter.ts';
import { type Holdings, holdings, type Memory, memory } from './holdings.ts';

export interface Settings {
  readonly face: 'http' | 'stdio';
  /** `memory:` or a file. */
  readonly store: string;
  /** Tasks that run at the same time. */
  readonly concurrency: number;
  /** How long open requests may take to end when it stops. */
  readonly grace: Duration;
  /** How long it looks at a token, and makes a server of the SDK: both may have to ask somebody else. */
  readonly lookMs: number;
  /** How long the store takes to read a task, as one that is not in the same process does. */
  readonly readMs: number;
}

export interface Held extends Holdings {
  readonly subscriptions: number;
  readonly watchers: number;
}

/** What the parent may ask for. */
export interface Answers {
  held(): Promise<Held>;
  memory(): Promise<Memory>;
  /** Whether its worker has nothing to do. */
  idle(): Promise<boolean>;
  stop(): Promise<void>;
}

export interface Asked {
  readonly n: number;
  readonly question: keyof Answers;
}

export type Said = { readonly ready: string } | { readonly n: number; readonly value: unknown };

const { face, store, concurrency, grace, lookMs, readMs } = JSON.parse(process.argv[2]!) as Settings;
const tasks = createTasks({
  store: () => opened(),
  tools: [...fixtureTools, chatter],
  limits: withoutLimits,
});
const worker = await tasks.work({ concurrency });
const requests = await tasks.requests();
const served = face === 'http' ? await overHttp() : overStdio();

const answers: Answers = {
  held: async () => ({
    ...(await holdings()),
    subscriptions: served.subscriptions(),
    watchers: requests.watchers,
  }),
  memory,
  idle: async () => worker.isIdle,
  stop: () => served.stop(),
};
process.on('message', async ({ n, question }: Asked) => say({ n, value: await answers[question]() }));
say({ ready: served.url });
await served.stopped;
// The channel would keep the process alive.
process.disconnect();

async function opened(): Promise<Database> {
  const database = await openSqlite(store);
  if (readMs === 0) return database;
  const read = database.store.get.bind(database.store);
  database.store.get = async (id) => {
    await pause(readMs);
    return read(id);
  };
  return database;
}

async function overHttp() {
  const verifyAccessToken = async (token: string) => {
    if (lookMs > 0) await pause(lookMs);
    return { token, clientId: token, scopes: [], expiresAt: Math.floor(Date.now() / 1_000) + 3_600 };
  };
  const factory: McpServerFactory = async (context) => {
    if (lookMs > 0) await pause(lookMs);
    return fixtureFactory(tasks)(context);
  };
  const { url, handler, stop, stopped } = await serveHttp(tasks, factory, {
    port: 0,
    grace,
    auth: { verifier: { verifyAccessToken } },
    onError: (error) => console.error(error),
  });
  return { url, stop, stopped, subscriptions: () => handler.subscriptions };
}

function overStdio() {
  const onError = (error: Error) => console.error(error);
  const { stop, stopped } = serveStdio(tasks, fixtureFactory(tasks), { onError });
  return { url: 'stdio', stop, stopped, subscriptions: () => requests.watchers };
}

function say(said: Said): void {
  process.send!(said);
}
