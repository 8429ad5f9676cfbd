import { newId } from '../../model/id.ts';
import type { Database } from '../../ports/queue.ts';
import { StoreError } from '../../ports/store-errors.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { runtime } from '../../runtime/runtime.ts';
import { storedAudit } from '../shared/audit.ts';
import { storedCalls } from '../shared/calls.ts';
import { type Encryption, readKeys } from '../shared/encryption/keys.ts';
import type { RekeyReport } from '../shared/encryption/rekey.ts';
import { retried } from '../shared/retry.ts';
import { storedSecrets } from '../shared/secrets.ts';
import { storedSessions } from '../shared/sessions.ts';
import {
  clientConfig,
  hasSessions,
  isStarting,
  livenessConfig,
  loadDriver,
  placeOf,
  sessionSettingsOf,
  settingsOf,
  toStoreError,
  verified,
  writerSettings,
} from './connections/driver.ts';
import { Connections } from './connections/pool.ts';
import { deleteOldLanes } from './connections/write-lanes.ts';
import { rekeyPostgres } from './encryption/rekey.ts';
import { Vault } from './encryption/vault.ts';
import { postgresQueries } from './query/query.ts';
import { applicationNameOf, type DirectClient, Liveness } from './queue/process-liveness.ts';
import { PostgresQueue } from './queue/queue.ts';
import { ReadyTasks } from './queue/ready-tasks.ts';
import { checkServer, migrate, requestSql, resetForeignTransactions } from './schema.ts';
import { postgresTables } from './tables.ts';
import { Commands, lanes } from './tasks/commands.ts';
import { Feed } from './tasks/feed.ts';
import { RowCache } from './tasks/row-cache.ts';
import { Rows } from './tasks/rows.ts';
import { estimatedSize } from './tasks/size.ts';
import { postgresStore } from './tasks/store.ts';

export interface PostgresDatabase extends Database {
  /**
   * Re-encrypts all values that are not encrypted with the newest key, and reports how many values there are under
   * which key. When none is left under a key, that key can be removed from `encryption`.
   */
  rekey(): Promise<RekeyReport>;
}

export interface PostgresOptions {
  readonly clock?: Clock;
  /** The schema in which the tables are. Default `'holdfast'`. */
  readonly schema?: string;
  /** Connections of this process, and one more on which it listens. Default 10. */
  readonly connections?: number;
  /**
   * Where the server itself can be reached, if the URL leads to a connection pooler: for the connection on which this
   * process listens and shows that it is alive. Behind a pooler without it, tasks of a killed process are taken over
   * when their leases expire, and changes of other processes are found by polling.
   */
  readonly directUrl?: string;
  /** The longest that one statement may take, in milliseconds. Default 30,000. */
  readonly statementTimeout?: number;
  /** Encrypts what callers, handlers and peers say. A database that is encrypted cannot be opened without. */
  readonly encryption?: Encryption;
}

/** How often a server that is starting is asked again. */
const startingMs = 100;

/** Opens a database of tasks on a Postgres server. Its tables are made if they are not there. */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<PostgresDatabase> {
  const place = placeOf(url);
  const { schema = 'holdfast', clock = systemClock, connections: max = 10, directUrl } = options;
  checkOptions(place, schema, max);
  const keys = options.encryption && readKeys(options.encryption, place);
  const pg = await loadDriver(place);
  const limits = { statementMs: options.statementTimeout ?? 30_000 };
  const config = clientConfig(url, limits);
  const name = newId();
  const letGo = keepAlive();
  const opened: { close(): Promise<void> }[] = [];
  try {
    const isDirect = await whenStarted(() => hasSessions(pg, config));
    const poolOf = (size: number, ...settings: readonly string[]) => {
      const verify = isDirect ? verified([...sessionSettingsOf(limits), ...settings]) : undefined;
      // An open store alone keeps no process alive.
      const shared = { max: size, allowExitOnIdle: true, idleTimeoutMillis: 30_000 };
      // A pooler would show this name also when this process is gone.
      const application_name = isDirect ? applicationNameOf(name) : 'holdfast';
      const pool = new pg.Pool({ ...config, ...shared, application_name, ...(verify && { verify }) });
      const connections = new Connections(pool, place, isDirect ? undefined : settingsOf(limits));
      opened.push(connections);
      return connections;
    };
    const connections = poolOf(max - lanes);
    const writers = poolOf(lanes, ...writerSettings);
    const directConfig = directUrl === undefined ? config : clientConfig(directUrl, limits);
    const connect = async (): Promise<DirectClient> => {
      const client = new pg.Client(livenessConfig(directConfig));
      client.on('error', () => {});
      await client.connect();
      (client as unknown as { connection: { stream: { unref(): void } } }).connection.stream.unref();
      // What is sent here is lost with a crash anyway: no commit waits for the disk.
      const settings = [...sessionSettingsOf(limits), 'synchronous_commit = off'];
      await client.query(settings.map((setting) => `set ${setting}`).join('; '));
      return client;
    };
    if (directUrl !== undefined && !(await whenStarted(() => hasSessions(pg, directConfig))))
      throw new StoreError(
        'STORE_NOT_OPENED',
        placeOf(directUrl),
        'the direct URL leads to a connection pooler too',
        'Give the address of the Postgres server itself, or leave it out.',
      );
    const isListening = isDirect || directUrl !== undefined;
    const liveness = new Liveness({ name, connections, schema, connect: isListening ? connect : undefined });
    opened.unshift(liveness);
    await checkServer(connections, place);
    await migrate(connections, schema, place);
    await resetForeignTransactions(connections, schema);
    const vault = new Vault({ connections, schema, keys, place });
    await vault.open();
    await liveness.start();
    return await assemble({ connections, writers, vault, liveness, schema, clock, place });
  } catch (error) {
    for (const one of opened) await one.close().catch(() => {});
    throw toStoreError(error, place);
  } finally {
    letGo();
  }
}

/** While something is waited for: connections that do nothing keep no process alive. */
function keepAlive(): () => void {
  const timer = runtime.setInterval(() => {}, 60_000);
  return () => runtime.clearInterval(timer);
}

async function assemble(parts: {
  readonly connections: Connections;
  readonly writers: Connections;
  readonly vault: Vault;
  readonly liveness: Liveness;
  readonly schema: string;
  readonly clock: Clock;
  readonly place: string;
}): Promise<PostgresDatabase> {
  const { connections, writers, vault, liveness, schema, clock, place } = parts;
  const cache = new RowCache();
  for (const pool of [connections, writers]) pool.onBroken(() => cache.clear());
  liveness.onMissed(() => cache.clear());
  const rows = new Rows(connections, vault, schema);
  await deleteOldLanes(connections, schema);
  const feed = new Feed(connections, vault, liveness, schema);
  await feed.start();
  const ready = new ReadyTasks(schema, () => liveness.dead);
  const commands = new Commands({
    ...{ connections, writers, rows, cache, vault, ready, feed, clock },
    ...{ schema, place, process: liveness.name },
  });
  const queue = new PostgresQueue({ connections, feed, liveness, clock, cache, schema });
  let rekeying: Promise<RekeyReport> | undefined;
  const close = async () => {
    const letGo = keepAlive();
    try {
      await commands.close();
      queue.close();
      await feed.close();
      await liveness.close();
      for (const pool of [writers, connections]) await pool.close();
    } finally {
      letGo();
    }
  };
  const tables = postgresTables({ connections, vault, schema, place });
  const size = () => estimatedSize(connections, schema);
  const store = postgresStore({ rows, tables, commands, feed, queue, size, place, close });
  return {
    store,
    queue,
    secrets: storedSecrets(tables),
    sessions: storedSessions(tables),
    calls: storedCalls(tables, requestSql, (id) => cache.delete(id)),
    audit: storedAudit(tables),
    queries: postgresQueries({ connections, vault, schema, clock, place }),
    onDisconnected(listener) {
      const lost = () =>
        new StoreError(
          'STORE_NOT_OPENED',
          place,
          'a connection was lost',
          'Check that Postgres runs, and its own log.',
        );
      for (const pool of [connections, writers]) pool.onBroken(() => listener(lost()));
    },
    close: () => store.close(),
    rekey: async () => {
      rekeying ??= rekeyPostgres(tables, vault, place).finally(() => {
        rekeying = undefined;
      });
      return rekeying;
    },
  };
}

function checkOptions(place: string, schema: string, connections: number): void {
  if (!/^[a-z_][a-z0-9_]{0,40}$/.test(schema))
    throw new StoreError(
      'STORE_NOT_OPENED',
      place,
      `"${schema}" is no name for a schema here`,
      'Use lower-case letters, digits and underscores, 41 at most.',
    );
  if (!Number.isInteger(connections) || connections < 5)
    throw new StoreError(
      'STORE_NOT_OPENED',
      place,
      `${connections} connections are too few`,
      'Allow at least 5: three write, the others read.',
    );
}

/** A server that has just been started says so for a while. */
function whenStarted<T>(act: () => Promise<T>): Promise<T> {
  return retried(act, isStarting, startingMs);
}
