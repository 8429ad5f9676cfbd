/** The server under test, as a process of its own: `node server.ts '{"file":"tasks.db"}'`. */
import { createTasks, type Duration, type TasksOptions } from '../../src/index.ts';
import { serveHttp, serveStdio } from '../../src/server.ts';
import { sqlite } from '../../src/sqlite.ts';
import { encryption } from '../encryption/keys.ts';
import { storeFrom } from '../fixture/server.ts';
import { tokensOf } from '../fixture/tokens.ts';
import { handOverTools } from '../hand-over/tools.ts';
import { attached } from '../kit/attached.ts';
import { servingTools } from './tools.ts';

export interface ServerSettings {
  /** A database file, or the URL of a store. */
  readonly file?: string;
  readonly store?: string;
  /** Whether the database file is encrypted. */
  readonly encrypted?: boolean;
  readonly tools?: 'hand-over';
  readonly window?: Duration;
  /** How long open requests may take when the server stops. */
  readonly grace?: Duration;
  /** How long steps may take then. */
  readonly workerGrace?: Duration;
  /** 0 for a process that only serves. */
  readonly concurrency?: number;
  readonly tokens?: Readonly<Record<string, string>>;
  readonly drafts?: NonNullable<TasksOptions['drafts']>;
  readonly port?: number;
  readonly stdio?: boolean;
  /** What clients without tasks get: 'wait', or hand-over after this time, with and without progress. */
  readonly plainClients?: 'wait';
  readonly handOver?: Duration;
}

const settings = JSON.parse(process.argv[2]!) as ServerSettings;
const { file, store = `sqlite:${file}`, window, grace, workerGrace, concurrency, tokens } = settings;
const { drafts = [], port = 0, handOver } = settings;

const tasks = createTasks({
  store: settings.encrypted ? sqlite(file!, { encryption: encryption('first') }) : storeFrom(store),
  tools: settings.tools ? handOverTools : servingTools,
  drafts,
  ...(window !== undefined && { window }),
});
if (concurrency !== 0)
  await tasks.work({
    ...(concurrency !== undefined && { concurrency }),
    ...(workerGrace !== undefined && { grace: workerGrace }),
  });
const plainClients =
  handOver === undefined ? settings.plainClients : { window: handOver, windowWithProgress: handOver };
const factory = attached(tasks, plainClients && { plainClients });
const onError = (error: Error) => console.error(error);
if (settings.stdio) await serveStdio(tasks, factory, { onError }).stopped;
else {
  const { url } = await serveHttp(tasks, factory, {
    port,
    onError,
    ...(grace !== undefined && { grace }),
    ...(tokens && { auth: tokensOf(new Map(Object.entries(tokens))) }),
  });
  console.log(`ready ${url}`);
}
