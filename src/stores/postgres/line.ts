/**
 * The connection that a process keeps for itself: it hears on it what others say, and holds a lock on it that the
 * server drops with the connection, so that the others know who is gone. Broken, it is opened again, with a back-off;
 * a process that is away for only a moment counts as alive.
 */
import { createHash } from 'node:crypto';
import { backoffMs } from '../../model/backoff.ts';
import { newId } from '../../model/id.ts';
import { pause, runtime, type Timer, unrefPause } from '../../model/runtime.ts';
import { name as stored } from './cells.ts';
import { type Client, isDisconnected } from './driver.ts';
import type { Connections } from './pool.ts';

const lookMs = 500;
/** Whoever's lock is missing for so long, as seen by somebody whose own line has stood for so long, is dead. */
const missingMs = 1_500;
const forgottenMs = 60_000;
const backoff = { minMs: 20, maxMs: 500 };
/** Others are told no more often than that. */
const tellMs = 10;

export interface News {
  /** Tasks may be there to be claimed. */
  readonly work: boolean;
}

interface Parts {
  readonly connect: () => Promise<Client & { end(): Promise<void> }>;
  readonly connections: Connections;
  /** On which no commit waits for the disk. */
  readonly hints: Connections;
  readonly schema: string;
}

export class Line {
  /** This process, as the others know it. */
  readonly name = newId();
  readonly #key = keyOf(this.name);
  readonly #parts: Parts;
  readonly #onNews = new Set<(news: News) => void>();
  readonly #onMissed = new Set<() => void>();
  readonly #missing = new Map<string, number>();
  #client: (Client & { end(): Promise<void> }) | undefined;
  #connectedAt = 0;
  #pending: News | undefined;
  #telling: Promise<void> | undefined;
  #looks: Timer | undefined;
  #looking = false;
  /** How many there were at the last look. */
  #dead = 0;
  #closed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    await this.#connect();
    this.#looks = runtime.setInterval(() => void this.#look(), lookMs).unref();
  }

  onNews(listener: (news: News) => void): void {
    this.#onNews.add(listener);
  }

  /** Calls back after a reconnection, since what was said meanwhile is lost, and when somebody was found dead. */
  onMissed(listener: () => void): void {
    this.#onMissed.add(listener);
  }

  /** Tells the other processes, soon: what comes while one message is under way shares the next. */
  tell(news: News): void {
    this.#pending = { work: news.work || this.#pending?.work === true };
    this.#telling ??= this.#tellAll().finally(() => {
      this.#telling = undefined;
    });
  }

  /** The names of those who were found dead, and not yet forgotten. */
  get dead(): string[] {
    const now = runtime.monotonic();
    if (this.#client === undefined || now - this.#connectedAt < missingMs) return [];
    return [...this.#missing].filter(([, since]) => now - since >= missingMs).map(([name]) => name);
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
    const [row] = await connections.query<{ locked: boolean }>(
      `select l.key is not null as locked
      from ${schema}.processes p left join (${locks}) l on l.key = p.key where p.name = $1`,
      [stored(name)],
    );
    if (!row) return false;
    if (row.locked) this.#missing.delete(name);
    else if (!this.#missing.has(name)) this.#missing.set(name, runtime.monotonic());
    return row.locked || !this.dead.includes(name);
  }

  async close(): Promise<void> {
    this.#closed = true;
    runtime.clearInterval(this.#looks);
    await this.#telling;
    const { schema, connections } = this.#parts;
    // Whoever leaves in order is known to be gone at once, and what is still in its hands is free.
    if (!this.#client) return;
    await connections
      .raw(
        `with gone as (delete from ${schema}.processes where name = $1)
        update ${schema}.tasks set deserted = true where holder = $1`,
        [this.name],
      )
      .then(() => this.#say({ work: true }))
      .catch(() => {});
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }

  async #connect(): Promise<void> {
    const { connect, schema } = this.#parts;
    const client = await connect();
    client.on('error', () => void this.#reconnect(client));
    client.on('end', () => void this.#reconnect(client));
    client.on('notification', ({ payload }) => this.#hear(payload));
    try {
      await client.query(`listen ${channelOf(schema)}`);
      await client.query(
        `insert into ${schema}.processes (name, key) values ($1, $2) on conflict (name) do nothing`,
        [this.name, this.#key],
      );
      await client.query('select pg_try_advisory_lock($1)', [this.#key]);
      if (this.#closed) throw new Error('Closed meanwhile.');
    } catch (error) {
      // It would be open for as long as this process lives, and perhaps say that it works here.
      client.end().catch(() => {});
      throw error;
    }
    this.#connectedAt = runtime.monotonic();
    this.#client = client;
  }

  async #reconnect(broken: Client & { end(): Promise<void> }): Promise<void> {
    if (this.#client !== broken) return;
    this.#client = undefined;
    this.#missing.clear();
    broken.end().catch(() => {});
    for (let retries = 0; !this.#closed; retries++) {
      try {
        await this.#connect();
        for (const listener of this.#onMissed) listener();
        return;
      } catch {
        await unrefPause(backoffMs(backoff, retries) * (0.5 + runtime.random()));
      }
    }
  }

  #hear(payload: string | undefined): void {
    const { from, ...news } = JSON.parse(payload ?? '{}') as News & { from?: string };
    if (from !== this.name) for (const listener of this.#onNews) listener(news);
  }

  async #tellAll(): Promise<void> {
    while (this.#pending) {
      const news = this.#pending;
      this.#pending = undefined;
      // What is not heard is found by looking.
      await this.#say(news).catch(() => {});
      if (!this.#closed) await pause(tellMs);
    }
  }

  async #say(news: News): Promise<void> {
    const { schema, hints } = this.#parts;
    await hints.query({ name: 'notify', text: 'select pg_notify($1, $2)' }, [
      channelOf(schema),
      JSON.stringify({ from: this.name, ...news }),
    ]);
  }

  /** Who has no lock, and whether we have ours: after a cut the server may have kept it for the old connection. */
  async #look(): Promise<void> {
    const client = this.#client;
    if (!client || this.#looking) return;
    this.#looking = true;
    try {
      const { schema } = this.#parts;
      const { rows } = await client.query(
        `select p.name, l.key is not null as locked
        from ${schema}.processes p left join (${locks}) l on l.key = p.key`,
      );
      if (client !== this.#client) return;
      const now = runtime.monotonic();
      const missing = new Set<string>();
      for (const { name, locked } of rows) if (!locked) missing.add(name);
      if (missing.delete(this.name)) await client.query('select pg_try_advisory_lock($1)', [this.#key]);
      for (const name of this.#missing.keys()) if (!missing.has(name)) this.#missing.delete(name);
      for (const name of missing) if (!this.#missing.has(name)) this.#missing.set(name, now);
      const { dead } = this;
      if (dead.length > this.#dead) for (const listener of this.#onMissed) listener();
      this.#dead = dead.length;
      await this.#forgetLongDead(client, now);
    } catch (error) {
      // It broke, and is being opened again; or it is silent, of which nobody else is told.
      if (isDisconnected(error)) void this.#reconnect(client);
    } finally {
      this.#looking = false;
    }
  }

  /** Of whom there is nothing left to take over. */
  async #forgetLongDead(client: Client, now: number): Promise<void> {
    const { schema } = this.#parts;
    const long = [...this.#missing].filter(([, since]) => now - since > forgottenMs).map(([name]) => name);
    if (long.length === 0) return;
    await client.query(
      `delete from ${schema}.processes p where name = any($1)
        and not exists (select 1 from ${schema}.tasks t where t.holder = p.name)`,
      [long],
    );
  }
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
