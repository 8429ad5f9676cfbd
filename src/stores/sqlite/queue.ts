/** The `Queue` on SQLite: ready tasks are an index on their rows, and holders are told alive or dead by their locks. */
import type { Backlog, Claim, Offer, Queue, ToolVersion } from '../../engine/queue.ts';
import type { Clock } from '../../model/clock.ts';
import type { TaskId } from '../../model/task.ts';
import { type Connection, worded } from './driver.ts';
import type { Feed } from './feed.ts';
import type { GroupCommit } from './group-commit.ts';
import type { Instance } from './instances.ts';
import type { Rows } from './rows.ts';

/** A claim of a killed process must be free within a second. */
const lookForDeadMs = 300;
/** Leases that run out, and anything a watcher missed. */
const netMs = 1_000;

interface ReadyRow {
  readonly id: TaskId;
  readonly wake_at: number;
  readonly holder: string | null;
  readonly lease_until: number | null;
}

export class SqliteQueue implements Queue {
  readonly #rows: Rows;
  readonly #commands: GroupCommit;
  readonly #feed: Feed;
  readonly #instance: Instance;
  readonly #clock: Clock;
  readonly #file: string;
  readonly #ready: ReturnType<Connection['prepare']>;
  readonly #orphaned: ReturnType<Connection['prepare']>;
  readonly #next: ReturnType<Connection['prepare']>;
  readonly #unclaimed: ReturnType<Connection['prepare']>;
  readonly #waiting: ReturnType<Connection['prepare']>;
  readonly #listeners = new Set<() => void>();
  /** Holders seen alive at the last look. */
  #alive = new Set<string>();
  #stopListening: (() => void)[] = [];
  #cancelTimer: (() => void) | undefined;

  constructor(parts: {
    readonly db: Connection;
    readonly rows: Rows;
    readonly commands: GroupCommit;
    readonly feed: Feed;
    readonly instance: Instance;
    readonly clock: Clock;
    readonly file: string;
  }) {
    this.#rows = parts.rows;
    this.#commands = parts.commands;
    this.#feed = parts.feed;
    this.#instance = parts.instance;
    this.#clock = parts.clock;
    this.#file = parts.file;
    this.#ready = parts.db.prepare(`
      select id, wake_at, holder, lease_until from tasks
      where tool = ? and tool_version = ? and wake_at <= ?
        and (holder is null or lease_until <= ? or holder not in (select value from json_each(?)))
      order by wake_at limit ?`);
    this.#orphaned = parts.db.prepare(`
      select id from tasks
      where wake_at <= ? and holder is null
        and tool || ' ' || tool_version not in (select value from json_each(?))
      limit ?`);
    this.#next = parts.db.prepare(`
      select min(wake_at) as wake_at from tasks where tool = ? and tool_version = ? and wake_at > ?`);
    this.#unclaimed = parts.db.prepare(`
      select count(*) as ready, min(wake_at) as since from (
        select wake_at from tasks
        where tool = ? and tool_version = ? and wake_at <= ? and (holder is null or lease_until <= ?)
        order by wake_at limit ?)`);
    this.#waiting = parts.db.prepare(`
      select count(*) as waiting from (select 1 from tasks where waiting is not null limit ?)`);
  }

  get name(): string {
    return this.#instance.name;
  }

  async isAlive(name: string): Promise<boolean> {
    return this.#instance.isAlive(name);
  }

  async offers(tools: readonly ToolVersion[], limit: number): Promise<Offer[]> {
    try {
      const now = this.#clock.now();
      // While nobody listens nothing keeps it up to date.
      if (this.#listeners.size === 0) this.#alive.clear();
      const ready = tools.flatMap((tool) => this.#readyOf(tool, now, limit));
      ready.sort((a, b) => a.wake_at - b.wake_at);
      if (ready.length < limit) this.#expectTimers(tools, now);
      return ready.slice(0, limit).map((row) => this.#offer(row, now));
    } catch (error) {
      throw worded(error, this.#file);
    }
  }

  async orphans(tools: readonly ToolVersion[], readySince: number, limit: number): Promise<TaskId[]> {
    try {
      const known = JSON.stringify(tools.map(({ tool, version }) => `${tool} ${version}`));
      const rows = this.#orphaned.all(readySince, known, limit) as unknown as { id: TaskId }[];
      return rows.map(({ id }) => id);
    } catch (error) {
      throw worded(error, this.#file);
    }
  }

  async backlog(tools: readonly ToolVersion[], most: number): Promise<Backlog> {
    try {
      const now = this.#clock.now();
      const rows = tools.map(
        ({ tool, version }) =>
          this.#unclaimed.get(tool, version, now, now, most) as { ready: number; since: number | null },
      );
      const moments = rows.flatMap(({ since }) => since ?? []);
      return {
        ready: Math.min(
          most,
          rows.reduce((sum, row) => sum + row.ready, 0),
        ),
        readySince: moments.length > 0 ? Math.min(...moments) : null,
        waiting: (this.#waiting.get(most) as { waiting: number }).waiting,
      };
    } catch (error) {
      throw worded(error, this.#file);
    }
  }

  renew(claims: readonly Claim[], leaseUntil: number): Promise<Claim[]> {
    return this.#commands.submit(() =>
      claims.filter(({ taskId, epoch }) => !this.#rows.renew(taskId, epoch, leaseUntil)),
    );
  }

  onWork(listener: () => void): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#startListening();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.close();
    };
  }

  close(): void {
    this.#listeners.clear();
    for (const stop of this.#stopListening.splice(0)) stop();
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** A holder that is not known to live is probed; every round either ends the search or learns of a living one. */
  #readyOf({ tool, version }: ToolVersion, now: number, limit: number): ReadyRow[] {
    for (;;) {
      const living = JSON.stringify([this.#instance.name, ...this.#alive]);
      const rows = this.#ready.all(tool, version, now, now, living, limit) as unknown as ReadyRow[];
      const holders = new Set(rows.filter((row) => isHeld(row, now)).map((row) => row.holder!));
      const living2 = [...holders].filter((holder) => this.#instance.isAlive(holder));
      if (living2.length === 0) return rows;
      for (const holder of living2) this.#alive.add(holder);
    }
  }

  #offer(row: ReadyRow, now: number): Offer {
    const offer = { taskId: row.id, holder: this.#instance.name };
    return isHeld(row, now) ? { ...offer, deadHolder: row.holder! } : offer;
  }

  #expectTimers(tools: readonly ToolVersion[], now: number): void {
    if (this.#listeners.size === 0) return;
    const times = tools.map(
      ({ tool, version }) => this.#next.get(tool, version, now)?.wake_at as number | null,
    );
    const next = times.reduce<number>((earliest, time) => Math.min(earliest, time ?? Infinity), Infinity);
    this.#cancelTimer?.();
    this.#cancelTimer = next === Infinity ? undefined : this.#clock.schedule(next, () => this.#tell());
  }

  #startListening(): void {
    this.#stopListening = [
      this.#feed.onStir(() => this.#tell()),
      this.#every(netMs, () => this.#tell()),
      this.#every(lookForDeadMs, () => this.#lookForDead()),
    ];
  }

  #lookForDead(): void {
    const before = this.#alive;
    this.#alive = new Set(this.#instance.others().filter((name) => this.#instance.isAlive(name)));
    if ([...before].some((name) => !this.#alive.has(name))) this.#tell();
  }

  #every(ms: number, act: () => void): () => void {
    let cancel: () => void;
    const arm = () => {
      cancel = this.#clock.schedule(this.#clock.now() + ms, () => {
        arm();
        act();
      });
    };
    arm();
    return () => cancel();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** By a holder whose lease still runs: offered only because that holder is dead. */
function isHeld(row: ReadyRow, now: number): boolean {
  return row.holder !== null && row.lease_until! > now;
}
