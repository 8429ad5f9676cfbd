import type { PgBoss } from 'pg-boss';
import type { Database } from '../../engine/queue.ts';
import { StoreNotOpened } from '../../engine/store-errors.ts';
import { type Clock, systemClock } from '../../model/clock.ts';
import { pause, runtime, type Timer } from '../../model/runtime.ts';
import { type Encryption, type Keys, readKeys } from '../values/keys.ts';
import { PostgresAudit } from './audit.ts';
import { postgresCalls } from './calls.ts';
import { Commands, lanes } from './commands.ts';
import { Dispatch } from './dispatch.ts';
import {
  clientConfig,
  hintConfig,
  isStarting,
  lineConfig,
  loadDriver,
  placeOf,
  withoutJit,
  worded,
  writerConfig,
} from './driver.ts';
import { Feed } from './feed.ts';
import { bossDatabase, Jobs } from './jobs.ts';
import { Known } from './known.ts';
import { learnFrom } from './learning.ts';
import { Line } from './line.ts';
import { Connections } from './pool.ts';
import { PostgresQueue } from './queue.ts';
import { Rewriting } from './rewriting.ts';
import { Rows } from './rows.ts';
import { checkServer, forgetForeignTransactions, hasSchema, migrate } from './schema.ts';
import { postgresSecrets } from './secrets.ts';
import { postgresSessions } from './sessions.ts';
import { Sizes } from './sizes.ts';
import { PostgresStore } from './store.ts';
import { postgresSurvey } from './survey.ts';
import { SurveyBackfill } from './survey-backfill.ts';
import { Vault } from './vault.ts';

export interface PostgresDatabase extends Database {
  /**
   * Resolves once every value is as `encryption` wants it: encrypted under the current key, or plain. That begins by
   * itself when the database is opened; this only waits for its end, and hastens it. Keys other than the current one
   * can be left out then.
   */
  reencrypt(): Promise<void>;
}

export interface PostgresOptions {
  readonly clock?: Clock;
  /** The schema in which the tables are; those of pg-boss are in `SCHEMA_jobs`. Default `'holdfast'`. */
  readonly schema?: string;
  /** Connections of this process, and one more on which it listens. Default 10. */
  readonly connections?: number;
  /** The longest that one statement may take, in milliseconds. Default 30,000. */
  readonly statementTimeout?: number;
  /** Encrypts what callers, handlers and peers say. A database that is encrypted cannot be opened without. */
  readonly encryption?: Encryption;
}

const startingMs = 30_000;

/** Opens a database of tasks on a Postgres server. Its tables are made if they are not there. */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<PostgresDatabase> {
  const place = placeOf(url);
  const { schema = 'holdfast', clock = systemClock, connections: max = 10 } = options;
  checkOptions(place, schema, max);
  const keys = options.encryption && readKeys(options.encryption, place);
  const { pg, PgBoss } = await loadDriver(place);
  const config = clientConfig(url, { statementMs: options.statementTimeout ?? 30_000 });
  const poolOf = (settings: typeof config, size: number) =>
    // An open store alone keeps no process alive.
    new Connections(
      new pg.Pool({
        ...{ ...settings, max: size, verify: withoutJit },
        ...{ allowExitOnIdle: true, idleTimeoutMillis: 30_000 },
      }),
      place,
    );
  const connections = poolOf(config, max - lanes);
  const writers = poolOf(writerConfig(config), lanes);
  const hints = poolOf(hintConfig(config), 1);
  const pools = [hints, writers, connections];
  const line = new Line({
    connections,
    hints,
    schema,
    connect: async () => {
      const client = new pg.Client(lineConfig(config));
      client.on('error', () => {});
      await client.connect();
      (client as unknown as { connection: { stream: { unref(): void } } }).connection.stream.unref();
      return client;
    },
  });
  let boss: PgBoss | undefined;
  const letGo = keepAlive();
  try {
    await whenStarted(() => connections.raw('select 1'));
    await checkServer(connections, place);
    await migrate(connections, schema, place);
    await forgetForeignTransactions(connections, schema);
    const vault = new Vault({ connections, schema, keys, place });
    await vault.open();
    boss = await startBoss(PgBoss, connections, `${schema}_jobs`);
    await line.start();
    return await assemble({ connections, writers, hints, vault, keys, line, boss, schema, clock, place });
  } catch (error) {
    await boss?.stop({ graceful: false, close: false }).catch(() => {});
    await line.close().catch(() => {});
    for (const pool of pools) await pool.close().catch(() => {});
    throw worded(error, place);
  } finally {
    letGo();
  }
}

/** While something is waited for: connections that do nothing, and what pg-boss waits with, keep no process alive. */
function keepAlive(): () => void {
  const timer = runtime.setInterval(() => {}, 60_000);
  return () => runtime.clearInterval(timer);
}

async function assemble(parts: {
  readonly connections: Connections;
  readonly writers: Connections;
  readonly hints: Connections;
  readonly vault: Vault;
  readonly keys: Keys | undefined;
  readonly line: Line;
  readonly boss: PgBoss;
  readonly schema: string;
  readonly clock: Clock;
  readonly place: string;
}): Promise<PostgresDatabase> {
  const { connections, writers, hints, vault, line, boss, schema, clock, place } = parts;
  const writer = line.name;
  const bossSchema = `${schema}_jobs`;
  const known = new Known();
  for (const pool of [connections, writers, hints]) pool.onBroken(() => known.clear());
  line.onMissed(() => known.clear());
  const rows = new Rows(connections, vault, known, schema);
  const sizes = new Sizes(connections, schema);
  await sizes.fold();
  const jobs = new Jobs({ boss, hints, schema, bossSchema });
  const feed = new Feed(connections, vault, line, schema);
  await feed.start();
  const commands = new Commands({
    ...{ connections, writers, rows, known, vault, jobs, feed, clock },
    ...{ schema, bossSchema, place, writer },
  });
  const queue = new PostgresQueue({
    ...{ connections, feed, line, clock, known, schema },
    dispatch: new Dispatch({ connections, jobs, line, schema, bossSchema }),
    offered: (found) => learnFrom(found, { rows, vault, known, feed }),
  });
  const rewriting =
    parts.keys && new Rewriting({ vault, sizes, schema, place, writer: `${writer}/rewriting` });
  if (rewriting) {
    vault.onUnfinished(() => rewriting.start());
    rewriting.start();
  }
  const backfill = new SurveyBackfill({ connections, vault, rows, schema, place });
  backfill.start();
  const close = async () => {
    const letGo = keepAlive();
    try {
      await backfill.stop();
      await rewriting?.stop();
      await commands.close();
      queue.close();
      await feed.close();
      await boss.stop({ graceful: false, close: false }).catch(() => {});
      await line.close();
      for (const pool of [hints, writers, connections]) await pool.close();
    } finally {
      letGo();
    }
  };
  const store = new PostgresStore({
    ...{ rows, commands, feed, queue, vault, sizes, place, close },
    writer: `${writer}/history`,
  });
  return {
    store,
    queue,
    secrets: postgresSecrets(vault, schema),
    sessions: postgresSessions(connections, vault, { schema, place }),
    calls: postgresCalls(connections, known, schema),
    audit: new PostgresAudit({ connections, vault, sizes, schema, place, writer: `${writer}/audit` }),
    survey: postgresSurvey({ connections, vault, schema, clock, place }),
    onDisconnected(listener) {
      const lost = () =>
        new StoreNotOpened(place, 'a connection was lost', 'Check that Postgres runs, and its own log.');
      for (const pool of [connections, writers, hints]) pool.onBroken(() => listener(lost()));
    },
    close: () => store.close(),
    reencrypt: async () => {
      await rewriting?.finish();
    },
  };
}

async function startBoss(Boss: typeof PgBoss, connections: Connections, schema: string): Promise<PgBoss> {
  const boss = new Boss({
    db: bossDatabase(connections),
    schema,
    createSchema: !(await hasSchema(connections, schema)),
    schedule: false,
    persistWarnings: false,
    clock: quietClock,
  });
  // It tries again by itself, and no task depends on it.
  boss.on('error', () => {});
  // Two that install it at once stand in each other's way.
  await connections.transact(async (transaction) => {
    await transaction.query('set local idle_in_transaction_session_timeout = 0');
    await transaction.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`pg-boss ${schema}`]);
    await boss.start();
  });
  return boss;
}

/** Its timers keep no process alive. */
const quietClock = {
  now: () => runtime.now(),
  setTimeout: (act: () => void, ms: number) => runtime.setTimeout(act, ms).unref(),
  clearTimeout: (timer: unknown) => runtime.clearTimeout(timer as Timer),
  setInterval: (act: () => void, ms: number) => runtime.setInterval(act, ms).unref(),
  clearInterval: (timer: unknown) => runtime.clearInterval(timer as Timer),
};

function checkOptions(place: string, schema: string, connections: number): void {
  if (!/^[a-z_][a-z0-9_]{0,40}$/.test(schema))
    throw new StoreNotOpened(
      place,
      `"${schema}" is no name for a schema here`,
      'Use lower-case letters, digits and underscores, 41 at most.',
    );
  if (!Number.isInteger(connections) || connections < 5)
    throw new StoreNotOpened(
      place,
      `${connections} connections are too few`,
      'Allow at least 5: three write, the others read.',
    );
}

/** A server that has just been started says so for a while. */
async function whenStarted(act: () => Promise<unknown>): Promise<void> {
  for (const started = runtime.monotonic(); ; ) {
    try {
      await act();
      return;
    } catch (error) {
      if (!isStarting(error) || runtime.monotonic() - started > startingMs) throw error;
      await pause(100);
    }
  }
}
