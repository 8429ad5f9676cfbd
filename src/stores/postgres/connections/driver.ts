/** The only module that uses `pg`: configures connections and converts errors to `StoreError`. */
import type { ClientBase, ClientConfig, Pool } from 'pg';
import { HoldfastError, type StoreErrorCode } from '../../../model/errors.ts';
import { StoreError, TaskCorrupt } from '../../../ports/store-errors.ts';
import { maxTimeoutMs } from '../../../runtime/runtime.ts';
import { Corrupt, CorruptRecord } from '../../shared/corrupt.ts';

export type Client = ClientBase;
export type ClientPool = Pool;
type Driver = typeof import('pg').default;

/**
 * A statement with a name is prepared once per connection. `query_timeout`: the client-side timeout in milliseconds.
 */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly query_timeout?: number;
}

/** A statement without a client-side timeout. The statement timeout of the server must be raised separately. */
export function withoutTimeout(text: string): Statement {
  return { text, query_timeout: maxTimeoutMs };
}

/** Names each statement by its key. */
export function prepared<Name extends string>(texts: Record<Name, string>): Record<Name, Statement> {
  const entries = Object.entries<string>(texts).map(([name, text]) => [name, { name, text }]);
  return Object.fromEntries(entries);
}

/** The location of the database for messages, without the password. */
export function placeOf(url: string): string {
  try {
    const { protocol, username, host, pathname } = new URL(url);
    return `${protocol}//${username && `${username}@`}${host}${pathname}`;
  } catch {
    return 'postgres:';
  }
}

export interface Limits {
  /** The statement timeout of the server; 0 for none. */
  readonly statementMs: number;
  /** How much longer the client waits for the server to report the timeout. Default 5 s. */
  readonly answerMs?: number;
}

export function clientConfig(url: string, { statementMs, answerMs = 5_000 }: Limits): ClientConfig {
  return {
    connectionString: url,
    application_name: 'holdfast',
    // If the machine of the server vanishes, no connection is closed. Keep-alives test idle connections, and the query
    // timeout ends busy ones. Otherwise the operating system would resend for a quarter of an hour.
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    ...(statementMs > 0 && { query_timeout: statementMs + answerMs }),
    connectionTimeoutMillis: 10_000,
    // Sends statements before earlier ones are answered, so a transaction needs fewer round trips.
    pipeline: true,
    types: { getTypeParser },
  } as ClientConfig;
}

/**
 * Settings of a connection. They are sent as statements, because poolers drop startup options: once for each direct
 * connection (`verified`), and in each transaction behind a pooler.
 */
export function settingsOf({ statementMs }: Limits): string[] {
  return [
    // Postgres overestimates the cost of recursive statements over thousands of subtasks. It would compile them each
    // time, which takes a hundred times as long as running them.
    'jit = off',
    `statement_timeout = ${statementMs}`,
    // A process that is stopped during a transaction must not keep its rows locked.
    'idle_in_transaction_session_timeout = 3000',
  ];
}

/** Settings for a whole session. */
export function sessionSettingsOf(limits: Limits): string[] {
  return [
    ...settingsOf(limits),
    // If the machine of a client vanishes, its locks must still be released.
    ...['tcp_keepalives_idle = 5', 'tcp_keepalives_interval = 2', 'tcp_keepalives_count = 3'],
    // Overrides the server's default: a statement must see everything that was committed before it.
    "default_transaction_isolation = 'read committed'",
  ];
}

/**
 * For the few write statements, which run constantly and with any number of rows: planning costs as much as running
 * them. Plans are created while the tables are small and kept while they grow, so they must use indexes.
 */
export const writerSettings = ['plan_cache_mode = force_generic_plan', 'enable_seqscan = off'];

/** The `verify` option of a pool: applies settings to each new connection. */
export function verified(settings: readonly string[]) {
  const text = settings.map((setting) => `set ${setting}`).join('; ');
  return (client: Client, done: (error?: Error) => void): void => {
    client.query(text).then(
      () => done(),
      (error) => done(error),
    );
  };
}

/** For the connection that shows that this process is alive. Its statements are fast. */
export function livenessConfig(config: ClientConfig): ClientConfig {
  return { ...config, query_timeout: Math.min(config.query_timeout ?? livenessMs, livenessMs) };
}

const livenessMs = 10_000;

/** A startup option without effect, which poolers reject or drop. */
const sessionMark = 'holdfast.session';

/** True if connections to this URL are sessions on the server itself, not connections to a pooler. */
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

/** Runs one statement on a temporary connection. */
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

/** The type id of `bigint`. */
const int8 = 20;

/** Parses `bigint` as a number: ours stay far below 2^53. All other types use the parsers of `pg`. */
function getTypeParser(oid: number, format?: string): unknown {
  return oid === int8 ? Number : defaultParsers(oid, format);
}

/** Set by `loadDriver`. */
let defaultParsers: (oid: number, format?: string) => unknown = () => String;

/** Loads `pg`, which is an optional package. */
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

/** The SQLSTATE or network error code of an error of `pg`; undefined for all other errors. */
export function codeOf(error: unknown): string | undefined {
  if (error instanceof HoldfastError) return undefined;
  const { code, message } = (error ?? {}) as { code?: unknown; message?: string };
  if (typeof code === 'string') return code;
  // The host has several addresses, and each failed.
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  // Errors of `pg` itself have no code.
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
  // SQLSTATEs: the server shuts down, crashed or starts; it ended an idle session; connection failures.
  ...['57P01', '57P02', '57P03', '57P05', '25P03', '08000', '08003', '08006'],
  // PgBouncer reports this if it lost or cannot reach the server.
  '08P01',
]);

/** True if the connection broke. Another one may work. The statement may have been executed. */
export function isDisconnected(error: unknown): boolean {
  return networkCodes.has(codeOf(error) ?? '');
}

/** The server is starting. */
export function isStarting(error: unknown): boolean {
  return codeOf(error) === '57P03';
}

/** Raised by `verify` (`write-lanes.ts`): the statement was rolled back because a precondition was false. */
export function areRowsChanged(error: unknown): boolean {
  return codeOf(error) === 'HF001';
}

const deadlock = '40P01';
const notSerializable = '40001';
const uniqueViolation = '23505';
const tooManyConnections = '53300';

/** True if a retry may succeed. Nothing was written, except perhaps if the connection broke. */
export function isRetryable(error: unknown): boolean {
  const code = codeOf(error);
  return isDisconnected(error) || [deadlock, notSerializable, tooManyConnections].includes(code ?? '');
}

/** True if another transaction inserted the same key first. A retry usually finds its row, so few tries are enough. */
export function isTaken(error: unknown): boolean {
  return codeOf(error) === uniqueViolation;
}

/** Returns the result of `act`. Converts its errors. */
export async function withStoreErrors<T>(place: string, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw toStoreError(error, place);
  }
}

/** Converts an error to a `StoreError` with the server and a remedy, which errors of Postgres lack. */
export function toStoreError(error: unknown, place: string): unknown {
  if (error instanceof HoldfastError) return error;
  const message = (error as Error)?.message;
  const code = codeOf(error);
  const as = (kind: StoreErrorCode, problem: string, remedy: string) =>
    new StoreError(kind, place, problem, remedy, error);
  if (code === undefined) {
    if (error instanceof CorruptRecord) return new TaskCorrupt(place, error.taskId, message, error);
    if (error instanceof Corrupt)
      return as('STORE_CORRUPT', `the stored data is inconsistent (${message})`, restore);
    if (error instanceof SyntaxError) return as('STORE_CORRUPT', 'a stored value is not readable', restore);
    return error;
  }
  switch (code) {
    case '28P01':
    case '28000':
      return as(
        'STORE_NOT_OPENED',
        'the server rejected the user or the password',
        'Check both in the URL: postgres://USER:PASSWORD@HOST:PORT/DATABASE.',
      );
    case '3D000':
      return as('STORE_NOT_OPENED', 'there is no such database', 'Create it first: createdb NAME.');
    case 'ENOTFOUND':
      return as('STORE_NOT_OPENED', 'the host name is unknown', 'Check the host in the URL.');
    case '42501':
      return as(
        'STORE_NOT_OPENED',
        `this user lacks a permission (${message})`,
        'Allow it to create schemas in the database (grant create on database NAME to USER), or create one for it (create schema holdfast authorization USER).',
      );
    case '25006':
      return as(
        'STORE_READ_ONLY',
        'this server accepts no writes: it is a replica or read-only',
        'Use the URL of the primary.',
      );
    case '53100':
      return as(
        'STORE_FULL',
        'the disk of the server is full; this change was not written',
        'Free some space and try again. All acknowledged changes are kept.',
      );
    case tooManyConnections:
      return as(
        'STORE_BUSY',
        'the server has no free connections',
        'Raise max_connections, or lower the option `connections` of each process.',
      );
    case '57014':
    case '55P03':
      return as(
        'STORE_BUSY',
        `the server took too long (${message})`,
        'Find the cause: long transactions, locks, or a slow disk.',
      );
    case 'XX001':
    case 'XX002':
      return as('STORE_CORRUPT', `the database is damaged (${message})`, restore);
    case '3F000':
    case '42P01':
      return as(
        'STORE_CORRUPT',
        `a table is missing (${message})`,
        'Restore the database, or open it again to create empty tables.',
      );
    default:
      if (isDisconnected(error))
        return as(
          'STORE_NOT_OPENED',
          `the server cannot be reached (${code})`,
          'Check that Postgres is running there and accepts connections from this machine.',
        );
      return as('STORE_FAILED', `Postgres reported: ${message} (${code})`, 'This change was not written.');
  }
}

const restore = 'Restore a back-up.';
