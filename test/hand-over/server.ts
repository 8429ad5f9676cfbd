import { createTasks, type Duration } from '../../src/index.ts';
import { serveHttp, serveStdio, staticTokens } from '../../src/server.ts';
import { storeFrom } from '../fixture/server.ts';
import { attached } from '../kit/attached.ts';
import { handOverTools } from './tools.ts';

export interface ServerSettings {
  /** A database file, or the URL of a store. */
  readonly file?: string;
  readonly store?: string;
  /** The window of calls, with and without progress. By default what is usual. */
  readonly handOver?: Duration;
  readonly port?: number;
  readonly stdio?: boolean;
  /** Clients by their tokens. By default anybody may call. */
  readonly tokens?: Readonly<Record<string, { readonly clientId: string }>>;
}

const settings = JSON.parse(process.argv[2]!) as ServerSettings;
const { file, store = `sqlite:${file}`, handOver, port = 0, stdio = false, tokens } = settings;
const tasks = createTasks({ store: storeFrom(store), tools: handOverTools });
await tasks.work({ concurrency: 64 });
const windows = handOver !== undefined && {
  plainClients: { window: handOver, windowWithProgress: handOver },
};
const factory = attached(tasks, windows || {});
const onError = (error: Error) => console.error(error);
if (stdio) await serveStdio(tasks, factory, { onError }).stopped;
else {
  const auth = tokens && { auth: staticTokens(tokens) };
  console.log(`ready ${(await serveHttp(tasks, factory, { port, onError, ...auth })).url}`);
}
