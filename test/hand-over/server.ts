import { createTasks, type Duration } from '../../src/index.ts';
import { serveHttp, serveStdio } from '../../src/server.ts';
import { sqlite } from '../../src/sqlite.ts';
import { attached } from '../kit/attached.ts';
import { handOverTools } from './tools.ts';

export interface ServerSettings {
  /** The database. */
  readonly file: string;
  readonly handOver: Duration;
  readonly stdio?: boolean;
}

const { file, handOver, stdio = false } = JSON.parse(process.argv[2]!) as ServerSettings;
const tasks = createTasks({ store: sqlite(file), tools: handOverTools });
await tasks.work();
const factory = attached(tasks, { plainClients: { handOver } });
const onError = (error: Error) => console.error(error);
if (stdio) await serveStdio(tasks, factory, { onError }).stopped;
else console.log(`ready ${(await serveHttp(tasks, factory, { port: 0, onError })).url}`);
