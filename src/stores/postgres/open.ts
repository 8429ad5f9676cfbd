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
   * Re-encrypts all values that are not encrypted with the newest key, and reports the number of values for each key. A
   * key that encrypts no values can be removed from `encryption`.
   */
  rekey(): Promise<RekeyReport>;
}

export interface PostgresOptions {
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** The schema of the tables. Default `'holdfast'`. */
  readonly schema?: string;
  /** The maximum number of pooled connections of this process. One more is used for notifications. Default 10. */
  readonly connections?: number;
  /**
   * The URL of the server itself, if the main URL leads to a connection pooler. Used for the connection that receives
   * notifications and shows that this process is alive. Without it, tasks of a killed process are taken over only when
   * their leases expire, and changes of other processes are found by polling.
   */
  readonly directUrl?: string;
  /** The maximum duration of one statement, in milliseconds. Default 30,000. */
  readonly statementTimeout?: number;
  /** Encrypts all data of callers, handlers and peers. An encrypted database cannot be opened without its keys. */
  readonly encryption?: Encryption;
}

/** The pause between attempts to connect to a server that is still starting, in milliseconds. */
const startingMs = 100;

/** Opens a task database on a Postgres server. Creates the tables if they do not exist. */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<PostgresDatabase> {
  const place = placeOf(url);
  const { schema = 'holdfast', clock = systemClock, connections: max = 10, directUrl } = options;
  checkOptions(place, schema, max);
  const keys = options.encryption && readKeys(options.encryption, place);
  const pg = await loadDriver(place);
  const limits = { statementMs: options.statementTimeout ?? 30_000 };
  const config = clientConfig(url, limits);
  // The name of this process among those that share the database.
  const name = newId();
  const stopKeepAlive = keepAlive();
  const opened: { close(): Promise<void> }[] = [];
  try {
    // False if the URL leads to a connection pooler.
    const isDirect = await whenStarted(() => hasSessions(pg, config));
    const poolOf = (size: number, ...settings: readonly string[]) => {
      const verify = isDirect ? verified([...sessionSettingsOf(limits), ...settings]) : undefined;
      // Idle connections do not keep the process alive.
      const shared = { max: size, allowExitOnIdle: true, idleTimeoutMillis: 30_000 };
      // Connections with this name show that the process is alive. A pooler would keep them open after its end.
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
      // Notifications do not survive a crash anyway, so commits need not wait for the disk.
      const settings = [...sessionSettingsOf(limits), 'synchronous_commit = off'];
      await client.query(settings.map((setting) => `set ${setting}`).join('; '));
      return client;
    };
    if (directUrl !== undefined && !(await whenStarted(() => hasSessions(pg, directConfig))))
      throw new StoreError(
        'STORE_NOT_OPENED',
        placeOf(directUrl),
        'the direct URL leads to a connection pooler too',
        'Set it to the URL of the Postgres server itself, or omit it.',
      );
    const isListening = isDirect || directUrl !== undefined;
    const liveness = new Liveness({ name, connections, schema, connect: isListening ? connect : undefined });
    // If opening fails, close `liveness` first: it still uses the pools.
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
    stopKeepAlive();
  }
}

/** Keeps the process alive until the returned function is called, because unreferenced connections do not. */
function keepAlive(): () => void {
  const timer = runtime.setInterval(() => {}, 60_000);
  return () => runtime.clearInterval(timer);
}

/** Builds the ports of the database on open connections. */
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
    const stopKeepAlive = keepAlive();
    try {
      await commands.close();
      queue.close();
      await feed.close();
      await liveness.close();
      for (const pool of [writers, connections]) await pool.close();
    } finally {
      stopKeepAlive();
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
          'Check that Postgres is running, and read its log.',
        );
      for (const pool of [connections, writers]) pool.onBroken(() => listener(lost()));
    },
    close: () => store.close(),
    rekey: async () => {
      // Concurrent calls share one run.
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
      `"${schema}" is not a valid schema name`,
      'Use at most 41 lower-case letters, digits and underscores.',
    );
  if (!Number.isInteger(connections) || connections < 5)
    throw new StoreError(
      'STORE_NOT_OPENED',
      place,
      `${connections} connections are too few`,
      'Use at least 5: three for writing, the others for reading.',
    );
}

/** Retries `act` while the server is starting and does not accept connections yet. */
function whenStarted<T>(act: () => Promise<T>): Promise<T> {
  return retried(act, isStarting, startingMs);
}
