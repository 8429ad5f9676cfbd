/**
 * Which processes are alive, and messages between them. A process holds an advisory lock on a connection of its own,
 * which the server drops with the connection, and listens on it for what the others report. If that connection breaks
 * it is opened again, with a back-off; a process that is away for only a moment counts as alive.
 *
 * Behind a pooler, without a direct URL, a process has no such connection: it reports in a row that it is alive, its
 * tasks are taken over when their leases expire, and changes are found by polling.
 */
import { createHash } from 'node:crypto';
import { newId } from '../../../model/id.ts';
import { backoffMs } from '../../../runtime/backoff.ts';
import { pause, runtime, type Timer, unrefPause } from '../../../runtime/runtime.ts';
import { type Client, isDisconnected } from '../connections/driver.ts';
import type { Connections } from '../connections/pool.ts';
import { name as stored } from '../encryption/cells.ts';

const lookMs = 250;
/**
 * A process is dead if its lock has been missing for so long and it has no other connection to the server, or for longer:
 * if only some connections were cut, the others show that it is alive.
 */
const missingMs = 900;
const connectedMs = 5_000;
/** After a restart of the server all are about to reconnect: for so long nobody is taken for dead. */
const afterRestartMs = 3_000;
const forgottenMs = 60_000;
const backoff = { minMs: 20, maxMs: 200 };
/** Others are told at once for a few times, and then no more often than that. */
const tellMs = 10;
const tellAtOnce = 5;
/** What nobody waits for is told after this, or with what follows it. */
const laterMs = 20;
/** A process without a lock reports so often that it is alive, and counts as alive for so long. */
const reportMs = 5_000;
const reportedSeconds = 20;

export type Urgency = 'now' | 'later';

export type DirectClient = Client & { end(): Promise<void> };

interface Parts {
  /** Of this process. */
  readonly name?: string;
  /** Undefined if there is no direct connection. */
  readonly connect: (() => Promise<DirectClient>) | undefined;
  readonly connections: Connections;
  readonly schema: string;
}

export class Liveness {
  /** This process, as the others know it. */
  readonly name: string;
  readonly #key: string;
  readonly #parts: Parts;
  readonly #onNews = new Set<(isWork: boolean) => void>();
  readonly #onMissed = new Set<() => void>();
  readonly #missing = new Map<string, Missing>();
  readonly #tokens = new Tokens();
  readonly #timers: Timer[] = [];
  #client: DirectClient | undefined;
  /** Before that nobody is taken for dead, on the monotonic clock. */
  #trustedAt = Number.POSITIVE_INFINITY;
  /** When the server was started. */
  #serverStart: string | undefined;
  /** A message to the others, and whether it is about work; undefined if there is none. */
  #pending: boolean | undefined;
  #telling: Promise<void> | undefined;
  #later: Timer | undefined;
  #looking = false;
  /** How many there were at the last look. */
  #dead = 0;
  #closed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.name = parts.name ?? newId();
    this.#key = keyOf(this.name);
    if (!parts.connect) parts.connections.onBroken(() => this.#distrust(afterRestartMs));
  }

  /** False if changes must be found by polling. */
  get listens(): boolean {
    return this.#parts.connect !== undefined;
  }

  async start(): Promise<void> {
    if (this.listens) this.#serverStart = await this.#connect();
    else {
      await this.#report();
      this.#timers.push(runtime.setInterval(() => void this.#report().catch(() => {}), reportMs).unref());
    }
    this.#distrust(missingMs);
    this.#timers.push(runtime.setInterval(() => void this.#look(), lookMs).unref());
  }

  /** Calls back when another process reports a commit; `isWork` if tasks may be there to be claimed. */
  onCommit(listener: (isWork: boolean) => void): void {
    this.#onNews.add(listener);
  }

  /** Calls back after a reconnection, since messages were lost meanwhile, and when a process was found dead. */
  onMissed(listener: () => void): void {
    this.#onMissed.add(listener);
  }

  /** Tells the other processes: what comes while one message is under way shares the next. */
  notify(isWork: boolean, urgency: Urgency = 'now'): void {
    this.#pending = isWork || this.#pending === true;
    if (urgency === 'now') this.#tellNow();
    else this.#later ??= runtime.setTimeout(() => this.#tellNow(), laterMs).unref();
  }

  #tellNow(): void {
    runtime.clearTimeout(this.#later);
    this.#later = undefined;
    this.#telling ??= this.#tellAll().finally(() => {
      this.#telling = undefined;
    });
  }

  /** The names of those who were found dead, and not yet forgotten. */
  get dead(): string[] {
    const now = runtime.monotonic();
    if (now < this.#trustedAt || (this.listens && !this.#client)) return [];
    const isDead = ({ since, isConnected }: Missing) =>
      now - since >= (isConnected ? connectedMs : missingMs);
    return [...this.#missing].filter(([, one]) => isDead(one)).map(([name]) => name);
  }

  async isAlive(name: string, certainty?: 'certain'): Promise<boolean> {
    if (name === this.name) return true;
    for (;;) {
      const isAlive = await this.#isAlive(name);
      if (certainty === undefined || !isAlive || !this.#missing.has(name)) return isAlive;
      await pause(lookMs / 5);
    }
  }

  async #isAlive(name: string): Promise<boolean> {
    const { schema, connections } = this.#parts;
    const [row] = await connections.query<ProcessRow>(`${processes(schema)} where p.name = $1`, [
      stored(name),
    ]);
    if (!row) return false;
    if (row.reported !== null) return row.reported;
    this.#note(row);
    return row.locked || !this.dead.includes(name);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) runtime.clearInterval(timer);
    runtime.clearTimeout(this.#later);
    await this.#telling;
    const { schema, connections } = this.#parts;
    const client = this.#client;
    if (this.listens && !client) return;
    // A process that leaves in order is known to be gone at once, and what it still holds is free.
    await connections
      .send(
        `with gone as (delete from ${schema}.processes where name = $1)
        update ${schema}.tasks set deserted = true where worker = $1`,
        [this.name],
      )
      .then(() => this.#say(true))
      .catch(() => {});
    this.#client = undefined;
    await client?.end().catch(() => {});
  }

  /** Returns when the server was started. */
  async #connect(): Promise<string> {
    const { connect, schema } = this.#parts;
    const client = await connect!();
    client.on('error', () => void this.#reconnect(client));
    client.on('end', () => void this.#reconnect(client));
    client.on('notification', ({ payload }) => this.#hear(payload));
    try {
      // In one round trip, and the lock first: until it is there, this process may be taken for dead.
      const results: unknown = await client.query(`
        select pg_try_advisory_lock(${this.#key});
        listen ${channelOf(schema)};
        insert into ${schema}.processes (name, key) values ('${this.name}', ${this.#key}) on conflict (name) do nothing;
        select pg_postmaster_start_time()::text as start`);
      const { rows } = (results as { rows: { start: string }[] }[]).at(-1)!;
      if (this.#closed) throw new Error('Closed meanwhile.');
      this.#client = client;
      return rows[0]!.start;
    } catch (error) {
      // It would be open for as long as this process lives, and perhaps show that it works here.
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
        this.#distrust(start === this.#serverStart ? missingMs : afterRestartMs);
        this.#serverStart = start;
        for (const listener of this.#onMissed) listener();
        return;
      } catch {
        await unrefPause(backoffMs(backoff, retries) * (0.5 + runtime.random()));
      }
    }
  }

  #distrust(ms: number): void {
    this.#missing.clear();
    this.#trustedAt = runtime.monotonic() + ms;
  }

  async #report(): Promise<void> {
    const { schema, connections } = this.#parts;
    await connections.query(
      `with old as (
        delete from ${schema}.processes where key is null and seen_at < now() - interval '1 hour' and name <> $1)
      insert into ${schema}.processes (name) values ($1) on conflict (name) do update set seen_at = now()`,
      [this.name],
    );
  }

  #hear(payload: string | undefined): void {
    const { from, work } = JSON.parse(payload ?? '{}') as { from?: string; work?: boolean };
    if (from !== this.name) for (const listener of this.#onNews) listener(work === true);
  }

  async #tellAll(): Promise<void> {
    while (this.#pending !== undefined) {
      const waitMs = this.#tokens.take();
      if (waitMs > 0 && !this.#closed) await pause(waitMs);
      const isWork = this.#pending;
      this.#pending = undefined;
      // What does not arrive is found by polling.
      await this.#say(isWork).catch(() => {});
    }
  }

  async #say(work: boolean): Promise<void> {
    const { schema, connections } = this.#parts;
    const payload = JSON.stringify({ from: this.name, work });
    const text = 'select pg_notify($1, $2)';
    // On the own connection no commit waits for the disk.
    if (this.#client)
      await this.#client.query({ name: 'notify', text, values: [channelOf(schema), payload] });
    else await connections.query(text, [channelOf(schema), payload]);
  }

  /** Who has no lock, and whether we have ours: after a cut the server may have kept it for the old connection. */
  async #look(): Promise<void> {
    const client = this.#client;
    if (this.#looking || (this.listens && !client)) return;
    this.#looking = true;
    try {
      const rows = await this.#ask<ProcessRow>(processes(this.#parts.schema));
      if (client !== this.#client) return;
      const names = new Set(rows.map(({ name }) => name));
      for (const name of this.#missing.keys()) if (!names.has(name)) this.#missing.delete(name);
      for (const row of rows) if (row.name !== this.name) this.#note(row);
      const own = rows.find(({ name }) => name === this.name);
      if (client && own && !own.locked) await client.query('select pg_try_advisory_lock($1)', [this.#key]);
      const { dead } = this;
      if (dead.length > this.#dead) for (const listener of this.#onMissed) listener();
      this.#dead = dead.length;
      await this.#forgetLongDead(runtime.monotonic());
    } catch (error) {
      // It broke, and is being opened again; or it is silent, of which nobody else is told.
      if (client && isDisconnected(error)) void this.#reconnect(client);
    } finally {
      this.#looking = false;
    }
  }

  /** Without a lock of its own a dead process cannot be told from a silent one: its leases decide. */
  #note({ name, locked, connected, reported }: ProcessRow): void {
    if (locked || reported !== null) this.#missing.delete(name);
    else
      this.#missing.set(name, {
        since: this.#missing.get(name)?.since ?? runtime.monotonic(),
        isConnected: connected,
      });
  }

  /** Those of whom there is nothing left to take over. */
  async #forgetLongDead(now: number): Promise<void> {
    const { schema } = this.#parts;
    const long = [...this.#missing]
      .filter(([, { since }]) => now - since > forgottenMs)
      .map(([name]) => name);
    if (long.length === 0) return;
    await this.#ask(
      `delete from ${schema}.processes p where name = any($1)
        and not exists (select 1 from ${schema}.tasks t where t.worker = p.name)`,
      [long],
    );
  }

  async #ask<R>(text: string, values: unknown[] = []): Promise<R[]> {
    if (!this.#client) return this.#parts.connections.query<R>(text, values);
    return (await this.#client.query(text, values)).rows as R[];
  }
}

/** A token bucket: a few at once, and then one after each pause. */
class Tokens {
  #left = tellAtOnce;
  #at = 0;

  /** Takes a token; returns how long to wait for it. */
  take(): number {
    const now = runtime.monotonic();
    this.#left = Math.min(tellAtOnce, this.#left + (now - this.#at) / tellMs) - 1;
    this.#at = now;
    return this.#left >= 0 ? 0 : -this.#left * tellMs;
  }
}

/** A process whose lock is missing. */
interface Missing {
  /** On the monotonic clock. */
  readonly since: number;
  readonly isConnected: boolean;
}

interface ProcessRow {
  readonly name: string;
  readonly locked: boolean;
  /** It has some connection to the server. */
  readonly connected: boolean;
  /** Whether it has reported lately; null of processes that have a lock instead. */
  readonly reported: boolean | null;
}

/** How connections of a process are called on the server. */
export function applicationNameOf(process: string): string {
  return `holdfast ${process}`;
}

function processes(schema: string): string {
  return `
    select p.name, l.key is not null as locked,
      exists (select 1 from pg_stat_activity a
        where a.datname = current_database() and a.application_name = 'holdfast ' || p.name) as connected,
      case when p.key is null then p.seen_at > now() - interval '${reportedSeconds} s' end as reported
    from ${schema}.processes p left join (${locks}) l on l.key = p.key`;
}

/** The advisory locks that are held in this database, by their keys. */
const locks = `
  select distinct (classid::bigint << 32) | objid::bigint as key from pg_locks
  where locktype = 'advisory' and objsubid = 1 and granted
    and database = (select oid from pg_database where datname = current_database())`;

function keyOf(name: string): string {
  return String(createHash('sha256').update(name).digest().readBigInt64BE());
}

function channelOf(schema: string): string {
  return `${schema}_news`;
}
