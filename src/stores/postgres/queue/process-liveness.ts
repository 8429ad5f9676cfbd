/**
 * Which processes are alive, and notifications between them. Each process has a separate connection with an advisory
 * lock, which the server releases when the connection ends. It also listens there for notifications. A broken
 * connection is reopened with backoff; a process that is disconnected only briefly counts as alive.
 *
 * Behind a pooler without a direct URL there is no such connection: a process writes heartbeats to a row, its tasks are
 * taken over when their leases expire, and changes are found by polling.
 */
import { createHash } from 'node:crypto';
import { newId } from '../../../model/id.ts';
import { backoffMs } from '../../../runtime/backoff.ts';
import { pause, runtime, type Timer, unrefPause } from '../../../runtime/runtime.ts';
import { type Client, isDisconnected } from '../connections/driver.ts';
import type { Connections } from '../connections/pool.ts';
import { name as stored } from '../encryption/cells.ts';

/** How often each process looks for dead processes, in milliseconds. */
const checkMs = 250;
/**
 * A process is dead if its lock has been missing for `minMissingMs` and it has no other connection to the server. If it
 * has other connections, it is dead only after `connectedMs`, because only some connections may have been cut.
 */
const minMissingMs = 900;
const connectedMs = 5_000;
/** After a restart of the server all processes reconnect. During this time none counts as dead. */
const afterRestartMs = 3_000;
/** Rows of dead processes without tasks are deleted after this time. */
const deleteAfterMs = 60_000;
/** The pauses between attempts to reconnect. */
const backoff = { minMs: 20, maxMs: 200 };
/** Limits the notifications that this process sends: `notifyBurst` at once, then one every `notifyMs`. */
const notifyMs = 10;
const notifyBurst = 5;
/** The delay of notifications that are not urgent. An urgent one in this time is sent at once and replaces it. */
const delayMs = 20;
/** How often a process without a direct connection writes a heartbeat, and how long it counts as alive after one. */
const reportMs = 5_000;
const reportedSeconds = 20;

export type Urgency = 'now' | 'later';

export type DirectClient = Client & { end(): Promise<void> };

interface Parts {
  /** The name of this process. */
  readonly name?: string;
  /** Undefined if there is no direct connection. */
  readonly connect: (() => Promise<DirectClient>) | undefined;
  readonly connections: Connections;
  readonly schema: string;
}

export class Liveness {
  /** The name of this process. */
  readonly name: string;
  /** The key of the advisory lock of this process. */
  readonly #key: string;
  readonly #parts: Parts;
  readonly #onCommit = new Set<(isWork: boolean) => void>();
  readonly #onMissed = new Set<() => void>();
  /** Processes whose lock is missing, by name. Not all of them count as dead yet. */
  readonly #missing = new Map<string, Missing>();
  readonly #tokens = new Tokens();
  readonly #timers: Timer[] = [];
  /** The direct connection; undefined while it is being opened again, or if there is none. */
  #client: DirectClient | undefined;
  /** No process counts as dead before this time; on the monotonic clock. */
  #trustedAt = Number.POSITIVE_INFINITY;
  /** The start time of the server. */
  #serverStart: string | undefined;
  /** Whether the pending notification reports work to claim; undefined if none is pending. */
  #pending: boolean | undefined;
  #notifying: Promise<void> | undefined;
  #later: Timer | undefined;
  #checking = false;
  /** The number of dead processes at the last check. */
  #dead = 0;
  #closed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.name = parts.name ?? newId();
    this.#key = keyOf(this.name);
    if (!parts.connect) parts.connections.onBroken(() => this.#distrust(afterRestartMs));
  }

  /** False if changes are found by polling. */
  get listens(): boolean {
    return this.#parts.connect !== undefined;
  }

  async start(): Promise<void> {
    if (this.listens) this.#serverStart = await this.#connect();
    else {
      await this.#report();
      this.#timers.push(runtime.setInterval(() => void this.#report().catch(() => {}), reportMs).unref());
    }
    this.#distrust(minMissingMs);
    this.#timers.push(runtime.setInterval(() => void this.#check(), checkMs).unref());
  }

  /** Calls back when another process reports a commit. With `isWork`, there may be tasks to claim. */
  onCommit(listener: (isWork: boolean) => void): void {
    this.#onCommit.add(listener);
  }

  /** Calls back after a reconnection, because notifications may have been lost, and when a process was found dead. */
  onMissed(listener: () => void): void {
    this.#onMissed.add(listener);
  }

  /**
   * Notifies the other processes of a commit. With `isWork`, the commit left tasks to claim. Calls while a notification
   * is in flight share the next one.
   */
  notify(isWork: boolean, urgency: Urgency = 'now'): void {
    this.#pending = isWork || this.#pending === true;
    if (urgency === 'now') this.#notifyNow();
    else this.#later ??= runtime.setTimeout(() => this.#notifyNow(), delayMs).unref();
  }

  #notifyNow(): void {
    runtime.clearTimeout(this.#later);
    this.#later = undefined;
    this.#notifying ??= this.#notifyAll().finally(() => {
      this.#notifying = undefined;
    });
  }

  /** The names of dead processes that still have a row. Empty while this process cannot judge. */
  get dead(): string[] {
    const now = runtime.monotonic();
    if (now < this.#trustedAt || (this.listens && !this.#client)) return [];
    const isDead = ({ since, isConnected }: Missing) =>
      now - since >= (isConnected ? connectedMs : minMissingMs);
    return [...this.#missing].filter(([, one]) => isDead(one)).map(([name]) => name);
  }

  /** With `'certain'`, waits while the lock is missing but the process does not count as dead yet. */
  async isAlive(name: string, certainty?: 'certain'): Promise<boolean> {
    if (name === this.name) return true;
    for (;;) {
      const isAlive = await this.#isAlive(name);
      if (certainty === undefined || !isAlive || !this.#missing.has(name)) return isAlive;
      await pause(checkMs / 5);
    }
  }

  async #isAlive(name: string): Promise<boolean> {
    const { schema, connections } = this.#parts;
    const [row] = await connections.query<ProcessRow>(`${processes(schema)} where p.name = $1`, [
      stored(name),
    ]);
    if (!row) return false;
    if (row.reported !== null) return row.reported;
    this.#update(row);
    return row.locked || !this.dead.includes(name);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) runtime.clearInterval(timer);
    runtime.clearTimeout(this.#later);
    await this.#notifying;
    const { schema, connections } = this.#parts;
    const client = this.#client;
    if (this.listens && !client) return;
    // After a clean shutdown, the process is gone immediately and its tasks are free.
    await connections
      .send(
        `with gone as (delete from ${schema}.processes where name = $1)
        update ${schema}.tasks set deserted = true where worker = $1`,
        [this.name],
      )
      .then(() => this.#send(true))
      .catch(() => {});
    this.#client = undefined;
    await client?.end().catch(() => {});
  }

  /** Opens the direct connection. Returns the start time of the server, which shows whether it was restarted. */
  async #connect(): Promise<string> {
    const { connect, schema } = this.#parts;
    const client = await connect!();
    client.on('error', () => void this.#reconnect(client));
    client.on('end', () => void this.#reconnect(client));
    client.on('notification', ({ payload }) => this.#receive(payload));
    try {
      // One round trip, and the lock first: without it this process may count as dead.
      const results: unknown = await client.query(`
        select pg_try_advisory_lock(${this.#key});
        listen ${channelOf(schema)};
        insert into ${schema}.processes (name, key) values ('${this.name}', ${this.#key}) on conflict (name) do nothing;
        select pg_postmaster_start_time()::text as start`);
      const { rows } = (results as { rows: { start: string }[] }[]).at(-1)!;
      if (this.#closed) throw new Error('Closed while connecting.');
      this.#client = client;
      return rows[0]!.start;
    } catch (error) {
      // Otherwise the connection would stay open and its lock would show this process as alive.
      client.end().catch(() => {});
      throw error;
    }
  }

  async #reconnect(broken: DirectClient): Promise<void> {
    if (this.#client !== broken) return;
    this.#client = undefined;
    broken.end().catch(() => {});
    for (let retries = 0; !this.#closed; retries++) {
      try {
        const start = await this.#connect();
        this.#distrust(start === this.#serverStart ? minMissingMs : afterRestartMs);
        this.#serverStart = start;
        for (const listener of this.#onMissed) listener();
        return;
      } catch {
        await unrefPause(backoffMs(backoff, retries) * (0.5 + runtime.random()));
      }
    }
  }

  /** For this time no process counts as dead, because others may only be reconnecting. */
  #distrust(ms: number): void {
    this.#missing.clear();
    this.#trustedAt = runtime.monotonic() + ms;
  }

  /** Writes a heartbeat. Deletes the rows of processes whose last one was more than an hour ago. */
  async #report(): Promise<void> {
    const { schema, connections } = this.#parts;
    await connections.query(
      `with old as (
        delete from ${schema}.processes where key is null and seen_at < now() - interval '1 hour' and name <> $1)
      insert into ${schema}.processes (name) values ($1) on conflict (name) do update set seen_at = now()`,
      [this.name],
    );
  }

  /** Handles a notification. `from` is the name of the sender; its own ones are ignored. */
  #receive(payload: string | undefined): void {
    const { from, work } = JSON.parse(payload ?? '{}') as { from?: string; work?: boolean };
    if (from !== this.name) for (const listener of this.#onCommit) listener(work === true);
  }

  async #notifyAll(): Promise<void> {
    while (this.#pending !== undefined) {
      const waitMs = this.#tokens.take();
      if (waitMs > 0 && !this.#closed) await pause(waitMs);
      const isWork = this.#pending;
      this.#pending = undefined;
      // Others find commits by polling if a notification is lost.
      await this.#send(isWork).catch(() => {});
    }
  }

  async #send(work: boolean): Promise<void> {
    const { schema, connections } = this.#parts;
    const payload = JSON.stringify({ from: this.name, work });
    const text = 'select pg_notify($1, $2)';
    // On the direct connection, commits do not wait for the disk.
    if (this.#client)
      await this.#client.query({ name: 'notify', text, values: [channelOf(schema), payload] });
    else await connections.query(text, [channelOf(schema), payload]);
  }

  /**
   * Finds processes whose lock is missing. Also takes the lock of this process if it does not have it: after a
   * reconnection, the broken connection may have kept it until now.
   */
  async #check(): Promise<void> {
    const client = this.#client;
    if (this.#checking || (this.listens && !client)) return;
    this.#checking = true;
    try {
      const rows = await this.#query<ProcessRow>(processes(this.#parts.schema));
      if (client !== this.#client) return;
      const names = new Set(rows.map(({ name }) => name));
      for (const name of this.#missing.keys()) if (!names.has(name)) this.#missing.delete(name);
      for (const row of rows) if (row.name !== this.name) this.#update(row);
      const own = rows.find(({ name }) => name === this.name);
      if (client && own && !own.locked) await client.query('select pg_try_advisory_lock($1)', [this.#key]);
      const { dead } = this;
      if (dead.length > this.#dead) for (const listener of this.#onMissed) listener();
      this.#dead = dead.length;
      await this.#deleteLongDead(runtime.monotonic());
    } catch (error) {
      // A broken connection is already being reopened. An unresponsive one reports no error, so reopen it here.
      if (client && isDisconnected(error)) void this.#reconnect(client);
    } finally {
      this.#checking = false;
    }
  }

  /**
   * Marks a process as missing, or removes the mark. A process that writes heartbeats instead of using a lock is never
   * marked: others take over its tasks when their leases expire.
   */
  #update({ name, locked, connected, reported }: ProcessRow): void {
    if (locked || reported !== null) this.#missing.delete(name);
    else
      this.#missing.set(name, {
        since: this.#missing.get(name)?.since ?? runtime.monotonic(),
        isConnected: connected,
      });
  }

  /** Deletes the rows of dead processes without tasks to take over. */
  async #deleteLongDead(now: number): Promise<void> {
    const { schema } = this.#parts;
    const longDead = [...this.#missing]
      .filter(([, { since }]) => now - since > deleteAfterMs)
      .map(([name]) => name);
    if (longDead.length === 0) return;
    await this.#query(
      `delete from ${schema}.processes p where name = any($1)
        and not exists (select 1 from ${schema}.tasks t where t.worker = p.name)`,
      [longDead],
    );
  }

  async #query<R>(text: string, values: unknown[] = []): Promise<R[]> {
    if (!this.#client) return this.#parts.connections.query<R>(text, values);
    return (await this.#client.query(text, values)).rows as R[];
  }
}

/** A token bucket with `notifyBurst` tokens, refilled by one every `notifyMs`. */
class Tokens {
  /** Negative if callers already wait for tokens. */
  #left = notifyBurst;
  /** When `#left` was computed. */
  #at = 0;

  /** Takes a token. Returns how long to wait before using it, in milliseconds. */
  take(): number {
    const now = runtime.monotonic();
    this.#left = Math.min(notifyBurst, this.#left + (now - this.#at) / notifyMs) - 1;
    this.#at = now;
    return this.#left >= 0 ? 0 : -this.#left * notifyMs;
  }
}

/** A process whose lock is missing. */
interface Missing {
  /** When a check first found it missing; on the monotonic clock. */
  readonly since: number;
  /** Whether the process has another connection to the server. */
  readonly isConnected: boolean;
}

interface ProcessRow {
  readonly name: string;
  /** Whether a connection holds its lock. */
  readonly locked: boolean;
  /** Whether it has any connection with its application name to the server. */
  readonly connected: boolean;
  /** Whether its last heartbeat is recent; null for a process that uses a lock, even if the lock is missing. */
  readonly reported: boolean | null;
}

/** The application name of a process's connections. `processes` searches for it in SQL. */
export function applicationNameOf(process: string): string {
  return `holdfast ${process}`;
}

/** Selects all processes; a `where` clause may follow. */
function processes(schema: string): string {
  return `
    select p.name, l.key is not null as locked,
      exists (select 1 from pg_stat_activity a
        where a.datname = current_database() and a.application_name = 'holdfast ' || p.name) as connected,
      case when p.key is null then p.seen_at > now() - interval '${reportedSeconds} s' end as reported
    from ${schema}.processes p left join (${locks}) l on l.key = p.key`;
}

/** The keys of all granted advisory locks in this database. `objsubid` is 1 for locks with one 64-bit key. */
const locks = `
  select distinct (classid::bigint << 32) | objid::bigint as key from pg_locks
  where locktype = 'advisory' and objsubid = 1 and granted
    and database = (select oid from pg_database where datname = current_database())`;

/** The first 64 bits of a hash of the name, as a signed decimal number. */
function keyOf(name: string): string {
  return String(createHash('sha256').update(name).digest().readBigInt64BE());
}

function channelOf(schema: string): string {
  return `${schema}_changes`;
}
