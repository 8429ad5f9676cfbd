/** The server under test, as a process of its own: `node server.ts '{"file":"tasks.db"}'`. */
import { OAuthError, OAuthErrorCode } from '@modelcontextprotocol/server';
import { createTasks, type Duration, type TasksOptions } from '../../src/index.ts';
import { serveHttp, serveStdio } from '../../src/server.ts';
import { sqlite } from '../../src/sqlite.ts';
import { attached } from '../kit/attached.ts';
import { servingTools } from './tools.ts';

export interface ServerSettings {
  /** The database. */
  readonly file: string;
  readonly window?: Duration;
  /** How long open requests may take when the server stops. */
  readonly grace?: Duration;
  /** How long steps may take then. */
  readonly workerGrace?: Duration;
  /** 0 for a process that only serves. */
  readonly concurrency?: number;
  /** Owners by their bearer tokens. */
  readonly tokens?: Readonly<Record<string, string>>;
  readonly drafts?: NonNullable<TasksOptions['drafts']>;
  readonly stdio?: boolean;
  /** What clients without tasks get. Default: hand-over. */
  readonly plainClients?: 'wait';
}

const settings = JSON.parse(process.argv[2]!) as ServerSettings;
const { file, window, grace, workerGrace, concurrency, tokens = {}, drafts = [], plainClients } = settings;

const verifier = {
  async verifyAccessToken(token: string) {
    const clientId = tokens[token];
    if (clientId === undefined) throw new OAuthError(OAuthErrorCode.InvalidToken, 'Unknown.');
    return { token, clientId, scopes: [], expiresAt: Math.floor(Date.now() / 1_000) + 3_600 };
  },
};

const tasks = createTasks({
  store: sqlite(file),
  tools: servingTools,
  drafts,
  ...(window !== undefined && { window }),
});
if (concurrency !== 0)
  await tasks.work({
    ...(concurrency !== undefined && { concurrency }),
    ...(workerGrace !== undefined && { grace: workerGrace }),
  });
const factory = attached(tasks, plainClients && { plainClients });
const onError = (error: Error) => console.error(error);
if (settings.stdio) await serveStdio(tasks, factory, { onError }).stopped;
else {
  const { url } = await serveHttp(tasks, factory, {
    port: 0,
    onError,
    ...(grace !== undefined && { grace }),
    ...(settings.tokens && { auth: { verifier } }),
  });
  console.log(`ready ${url}`);
}
