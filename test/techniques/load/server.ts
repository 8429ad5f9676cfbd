/**
 * The server of these tests, a process of its own: the tools of the fixture server and a talkative one. Over HTTP its
 * callers are told apart by their tokens. Its parent may ask what it holds, and tell it to stop.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { McpServerFactory } from '@modelcontextprotocol/server';
import type { Database, DurableTool, Duration } from 'holdfast';
import { serveHttp, serveStdio } from 'holdfast/server';
import { openSqlite } from 'holdfast/sqlite';
import { fixtureFactory, fixtureTasks } from '../../fixture/server.ts';
import { Mistakes } from '../fuzz/mistakes.ts';
import { chatter } from './chatter.ts';
import { holdings, memory } from './holdings.ts';

const defaults = {
  face: 'http' as 'http' | 'stdio',
  store: 'memory:',
  concurrency: 64,
  /** How long open requests may take to end when it stops. */
  grace: '10s' as Duration,
  /** How long it looks at a token, and makes a server of the SDK: both may have to ask somebody else. */
  lookMs: 0,
  /** How long the store takes to read a task, as one that is not in the same process does. */
  readMs: 0,
  /**
   * It has whatever the fixture server can be asked for: drafts, resources, prompts, completions, log levels. Of what
   * goes wrong only mistakes of the program are kept, and nothing is printed.
   */
  isUnderFire: false,
  /** The limits that every server has by default. */
  hasLimits: false,
  maxBodySize: 4 * 2 ** 20,
};

export type Settings = Partial<typeof defaults>;
export type Held = Awaited<ReturnType<Answers['held']>>;

const settings: Settings = JSON.parse(process.argv[2]!);
const { face, store, concurrency, grace, lookMs, readMs, isUnderFire, hasLimits, maxBodySize } = {
  ...defaults,
  ...settings,
};
const mistakes = isUnderFire ? new Mistakes() : undefined;
const onError = (error: Error) => {
  if (mistakes) mistakes.notice(error);
  else console.error(error);
};
const tasks = fixtureTasks(
  {
    store: () => opened(),
    ...(hasLimits && { limits: {} }),
    ...(isUnderFire && { drafts: 'all', minRetention: '1s', maxRetention: '2s' }),
  },
  { more: [chatter as DurableTool] },
);
const toolsOfCallers = fixtureFactory(tasks, {
  conformance: isUnderFire,
  // Calls would be handed over: one that should be refused for want of a capability, and those that wait for long.
  plainClients: 'wait',
});
const worker = await tasks.work({ concurrency });
const requests = await tasks.requests();
const served = face === 'http' ? await overHttp() : overStdio();

const answers = {
  held: async () => ({
    ...(await holdings()),
    subscriptions: served.subscriptions(),
    watchers: requests.watchers,
  }),
  memory,
  idle: async () => worker.isIdle,
  /** Mistakes of the program since it was last asked, and what messages have added to what all objects share. */
  mistakes: async () => mistakes?.taken() ?? [],
  full,
  stop: () => served.stop(),
};
export type Answers = typeof answers;
process.on('message', async ({ n, question }: { n: number; question: keyof Answers }) =>
  process.send!({ n, value: await answers[question]() }),
);
process.send!(served.url);
await served.stopped;
// The channel would keep the process alive.
process.disconnect();

/** Resolves when it has had so many tasks that all it remembers is remembered: the store has room for some four thousand. */
async function full(): Promise<void> {
  const owner = 'somebody of long ago';
  const made = () => tasks.create('count_sheep', { sheep: 1 }, { owner });
  await Promise.all(Array.from({ length: 4_200 }, made));
  while (!worker.isIdle) await pause(20);
}

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
    return toolsOfCallers(context);
  };
  const { url, handler, stop, stopped } = await serveHttp(tasks, factory, {
    port: 0,
    grace,
    auth: { verifier: { verifyAccessToken } },
    onError,
    maxBodySize,
  });
  return { url, stop, stopped, subscriptions: () => handler.subscriptions };
}

function overStdio() {
  const { stop, stopped } = serveStdio(tasks, toolsOfCallers, { onError });
  return { url: 'stdio', stop, stopped, subscriptions: () => requests.watchers };
}
