/** The one place that touches `pg`: settings of connections, and the words for their errors. */
import type { ClientBase, ClientConfig, Pool } from 'pg';
import { HoldfastError, type StoreErrorCode } from '../../../model/errors.ts';
import { StoreError, TaskCorrupt } from '../../../ports/store-errors.ts';
import { maxTimeoutMs } from '../../../runtime/runtime.ts';
import { Corrupt, CorruptRecord } from '../../shared/corrupt.ts';

export type Client = ClientBase;
export type ClientPool = Pool;
type Driver = typeof import('pg').default;

/** Under its name a statement that is sent often is planned once per connection. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly query_timeout?: number;
}

/** A statement, or several, for which is waited however long it takes: the server must have been told that it may. */
export function withoutTimeout(text: string): Statement {
  return { text, query_timeout: maxTimeoutMs };
}

export function prepared<Name extends string>(texts: Record<Name, string>): Record<Name, Statement> {
  const entries = Object.entries<string>(texts).map(([name, text]) => [name, { name, text }]);
  return Object.fromEntries(entries);
}

/** Where the database is, for people: without its password. */
export function placeOf(url: string): string {
  try {
    const { protocol, username, host, pathname } = new URL(url);
    return `${protocol}//${username && `${username}@`}${host}${pathname}`;
  } catch {
    return 'postgres:';
  }
}

export interface Limits {
  /** The longest that one statement may take; 0 if it does not matter. */
  readonly statementMs: number;
  /** How much later the server must have said that it took longer. */
  readonly answerMs?: number;
}

export function clientConfig(url: string, { statementMs, answerMs = 5_000 }: Limits): ClientConfig {
  return {
    connectionString: url,
    application_name: 'holdfast',
    // A server whose machine vanishes says no goodbye either: connections that do nothing are tried, and those on which
    // an answer is due are given up. Otherwise the system would go on sending for a quarter of an hour.
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    ...(statementMs > 0 && { query_timeout: statementMs + answerMs }),
    connectionTimeoutMillis: 10_000,
    // Statements are sent at once, even if others are not answered yet: a transaction takes fewer round trips.
    pipeline: true,
    types: { getTypeParser },
  } as ClientConfig;
}

/**
 * Settings of a connection. They are sent as statements, because poolers do not pass startup options on: of direct
 * connections once (`verified`), behind a pooler with each transaction.
 */
export function settingsOf({ statementMs }: Limits): string[] {
  return [
    // Postgres takes recursive statements over thousands of subtasks for so dear that it would compile them, each time,
    // for a hundred times as long as they run.
    'jit = off',
    `statement_timeout = ${statementMs}`,
    // A process that is stopped in the middle of a transaction must not keep its rows from the others.
    'idle_in_transaction_session_timeout = 3000',
  ];
}

/** … that hold for a whole session. */
export function sessionSettingsOf(limits: Limits): string[] {
  return [
    ...settingsOf(limits),
    // A machine that vanishes says no goodbye: its locks must go all the same.
    ...['tcp_keepalives_idle = 5', 'tcp_keepalives_interval = 2', 'tcp_keepalives_count = 3'],
    // Whatever the server's default: a statement must see what was committed before it began.
    "default_transaction_isolation = 'read committed'",
  ];
}

/**
 * For the few statements that are sent all the time, with any number of rows: planning them again costs as much as
 * running them. Their plans are made while the tables are small and kept while those grow, so they use indexes alone.
 */
export const writerSettings = ['plan_cache_mode = force_generic_plan', 'enable_seqscan = off'];

/** For a pool: what each new connection begins with. */
export function verified(settings: readonly string[]) {
  const text = settings.map((setting) => `set ${setting}`).join('; ');
  return (client: Client, done: (error?: Error) => void): void => {
    client.query(text).then(
      () => done(),
      (error) => done(error),
    );
  };
}

/** For the connection that shows that this process is alive, by statements that take no time. */
export function livenessConfig(config: ClientConfig): ClientConfig {
  return { ...config, query_timeout: Math.min(config.query_timeout ?? livenessMs, livenessMs) };
}

const livenessMs = 10_000;

/** A startup option of no meaning: poolers refuse it, or drop it. */
const sessionMark = 'holdfast.session';

/** Whether connections to this URL are sessions of their own on the server, and not a pooler's. */
export async function hasSessions(pg: Driver, config: ClientConfig): Promise<boolean> {
  const marked = { ...config, options: `-c ${sessionMark}=on` };
  try {
    const [row] = await queryOnce(pg, marked, 'select current_setting($1, true) as mark', [sessionMark]);
    return row.mark === 'on';
  } catch (error) {
    if (/unsupported startup parameter/.test((error as Error).message)) return false;
    throw error;
  }
}

/** The rows of one statement, on a connection that is there for nothing else. */
export async function queryOnce(pg: Driver, config: ClientConfig, text: string, values: unknown[]) {
  const client = new pg.Client(config);
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query(text, values)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}

const int8 = 20;

/** Numbers of rows and counts stay far below 2^53; everything else `pg` reads as it should. */
function getTypeParser(oid: number, format?: string): unknown {
  return oid === int8 ? Number : defaultParsers(oid, format);
}

let defaultParsers: (oid: number, format?: string) => unknown = () => String;

/** The package is optional for those who do not use Postgres. */
export async function loadDriver(place: string): Promise<Driver> {
  try {
    const { default: pg } = await import('pg');
    defaultParsers = pg.types.getTypeParser as typeof defaultParsers;
    return pg;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new StoreError(
      'STORE_NOT_OPENED',
      place,
      'the package `pg` is not installed',
      'Install it next to Holdfast: npm install pg.',
      error,
    );
  }
}

/** SQLSTATE, or what the network calls it. */
export function codeOf(error: unknown): string | undefined {
  if (error instanceof HoldfastError) return undefined;
  const { code, message } = (error ?? {}) as { code?: unknown; message?: string };
  if (typeof code === 'string') return code;
  // Several addresses, each refused for a reason of its own.
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  // `pg` gives no code to what it says itself.
  if (
    /^(Connection terminated|timeout expired|timeout exceeded|Query read timeout|Client has encountered a connection error)/.test(
      message ?? '',
    )
  )
    return 'ECONNRESET';
  return undefined;
}

const networkCodes = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'],
  ...['57P01', '57P02', '57P03', '57P05', '25P03', '08000', '08003', '08006'],
  // PgBouncer's word for a server that it lost or cannot reach.
  '08P01',
]);

/** The connection is gone, and with it whatever was not committed. Another may do better. */
export function isDisconnected(error: unknown): boolean {
  return networkCodes.has(codeOf(error) ?? '');
}

/** The server is there, and not yet ready. */
export function isStarting(error: unknown): boolean {
  return codeOf(error) === '57P03';
}

/** Raised by `hold` (`lanes.ts`): the statement was undone, because what was believed of rows is not so. */
export function areRowsChanged(error: unknown): boolean {
  return codeOf(error) === 'HF001';
}

const deadlock = '40P01';
const notSerializable = '40001';
const uniqueViolation = '23505';
const tooManyConnections = '53300';

/** Nothing was written; the same again may go well. */
export function isRetryable(error: unknown): boolean {
  const code = codeOf(error);
  return isDisconnected(error) || [deadlock, notSerializable, tooManyConnections].includes(code ?? '');
}

/** Somebody else was faster; looked at again, what is there is seen. Unless it cannot be, which some tries show. */
export function isTaken(error: unknown): boolean {
  return codeOf(error) === uniqueViolation;
}

/** What `act` returns; its errors in words. */
export async function withStoreErrors<T>(place: string, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw toStoreError(error, place);
  }
}

/** Postgres rarely says where it is, and never what to do. */
export function toStoreError(error: unknown, place: string): unknown {
  if (error instanceof HoldfastError) return error;
  const message = (error as Error)?.message;
  const code = codeOf(error);
  const as = (kind: StoreErrorCode, problem: string, remedy: string) =>
    new StoreError(kind, place, problem, remedy, error);
  if (code === undefined) {
    if (error instanceof CorruptRecord) return new TaskCorrupt(place, error.taskId, message, error);
    if (error instanceof Corrupt)
      return as('STORE_CORRUPT', `what is stored contradicts itself (${message})`, restore);
    if (error instanceof SyntaxError) return as('STORE_CORRUPT', 'a stored value is not readable', restore);
    return error;
  }
  switch (code) {
    case '28P01':
    case '28000':
      return as(
        'STORE_NOT_OPENED',
        'the server refused the user or the password',
        'Check both in the URL: postgres://USER:PASSWORD@HOST:PORT/DATABASE.',
      );
    case '3D000':
      return as('STORE_NOT_OPENED', 'there is no such database', 'Make it first: createdb NAME.');
    case 'ENOTFOUND':
      return as('STORE_NOT_OPENED', 'no machine is known by this name', 'Check the host in the URL.');
    case '42501':
      return as(
        'STORE_NOT_OPENED',
        `this user may not do what is needed (${message})`,
        'Let it create schemas in the database (grant create on database NAME to USER), or create one for it (create schema holdfast authorization USER).',
      );
    case '25006':
      return as(
        'STORE_READ_ONLY',
        'this server takes no writes: it is a replica, or set to read-only',
        'Use the URL of the primary.',
      );
    case '53100':
      return as(
        'STORE_FULL',
        'the disk of the server is full, nothing of this change was written',
        'Free some space and try again; everything acknowledged before is kept.',
      );
    case tooManyConnections:
      return as(
        'STORE_BUSY',
        'the server has no connection left',
        'Raise max_connections, or lower the option `connections` of each process.',
      );
    case '57014':
    case '55P03':
      return as(
        'STORE_BUSY',
        `the server took too long (${message})`,
        'Look for what holds it up: long transactions, locks, a disk that cannot keep up.',
      );
    case 'XX001':
    case 'XX002':
      return as('STORE_CORRUPT', `the database is damaged (${message})`, restore);
    case '3F000':
    case '42P01':
      return as(
        'STORE_CORRUPT',
        `a table is missing (${message})`,
        'Restore the database, or open it again to have its tables made anew, without tasks.',
      );
    default:
      if (isDisconnected(error))
        return as(
          'STORE_NOT_OPENED',
          `the server cannot be reached (${code})`,
          'Check that Postgres runs there and accepts connections from here.',
        );
      return as(
        'STORE_FAILED',
        `Postgres reported: ${message} (${code})`,
        'Nothing of this change was written.',
      );
  }
}

const restore = 'Restore a back-up.';
