/**
 * The change feed: delivers commits of this process and of others at least once, and for each task in order. It
 * remembers recent versions and does not deliver them again.
 *
 * A snapshot of the server shows which transactions have ended. So the feed can read everything that is new since its
 * last read, in whatever order transactions commit. Notifications of other processes trigger a read. They may get lost,
 * so the feed also reads periodically and after each reconnection.
 *
 * A server that crashes may reuse transaction ids. Commits with such ids are before the current position. So for a
 * while after a reconnection, and if a version is missing, the feed reads from an earlier position.
 */

import type { TaskId } from '../../../model/task.ts';
import type { CommittedChange } from '../../../ports/store.ts';
import { runtime, type Timer } from '../../../runtime/runtime.ts';
import { eventsOrNone } from '../../shared/task-texts.ts';
import { callListener } from '../../shared/work-listeners.ts';
import { prepared } from '../connections/driver.ts';
import type { Connections } from '../connections/pool.ts';
import { named } from '../encryption/cells.ts';
import type { Vault } from '../encryption/vault.ts';
import type { Liveness, Urgency } from '../queue/process-liveness.ts';

/** How often the feed reads even without notifications, in milliseconds. */
const fallbackMs = 2_000;
/** The same, if this process cannot receive notifications. */
const pollMs = 200;
/** How many transactions reads step back after a reconnection, or if a version is missing. */
const stepBack = 10_000n;
/** For how long after a reconnection reads step back, in milliseconds. */
const steppingBackMs = 15_000;
/** The last delivered version is remembered for at least this many tasks, and for at most twice as many. */
const minRemembered = 10_000;

interface CommitRow {
  /** The snapshot of the read, the same in each row. */
  readonly snapshot: string;
  /** Null in the only row of a read that found no commits. */
  readonly id: string | null;
  readonly root_id: string;
  readonly version: number;
  readonly at: number;
  /** Null if the task was removed. */
  readonly events: string | null;
}

type FoundRow = CommitRow & { readonly id: string };

/** A position in the feed: all transactions with ids below `end` have ended, except those in `open`. */
interface Position {
  readonly end: string;
  readonly open: readonly string[];
}

export class Feed {
  readonly #connections: Connections;
  readonly #vault: Vault;
  readonly #liveness: Liveness;
  readonly #sql: ReturnType<typeof statements>;
  readonly #listeners = new Set<(commit: CommittedChange) => void>();
  readonly #workListeners = new Set<() => void>();
  readonly #versions = new RecentVersions();
  readonly #fallback: Timer;
  /** Where the next read begins. */
  #position: Position | undefined;
  /** Reads never step back before this transaction: older commits are from before there were listeners. */
  #floor = 0n;
  /** On the monotonic clock. */
  #stepsBackUntil = 0;
  #reading: Promise<void> | undefined;
  /** The next read, which has not begun yet. */
  #requested: PromiseWithResolvers<void> | undefined;
  #closed = false;

  constructor(connections: Connections, vault: Vault, liveness: Liveness, schema: string) {
    this.#connections = connections;
    this.#vault = vault;
    this.#liveness = liveness;
    this.#sql = statements(schema);
    liveness.onCommit((isWork) => {
      if (this.#listeners.size > 0) void this.#readSoon();
      if (isWork) this.#notifyWork();
    });
    liveness.onMissed(() => {
      this.#stepsBackUntil = runtime.monotonic() + steppingBackMs;
      void this.#readSoon();
      this.#notifyWork();
    });
    this.#fallback = runtime.setInterval(() => this.#poll(), liveness.listens ? fallbackMs : pollMs).unref();
  }

  /** Sets the position from which on commits are delivered. */
  async start(): Promise<void> {
    await this.#read();
  }

  subscribe(listener: (commit: CommittedChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls back after a commit that left work for a worker, and whenever such a commit may have been missed. */
  onWork(listener: () => void): () => void {
    this.#workListeners.add(listener);
    return () => this.#workListeners.delete(listener);
  }

  /**
   * Delivers commits of this process and notifies the other processes. If an earlier version has not been delivered, or
   * `changes` is undefined because the result was lost, it reads the commits from the database instead. Resolves after
   * all listeners were called, or if the server is unreachable.
   */
  async committed(
    changes: readonly CommittedChange[] | undefined,
    leftWork: boolean,
    urgency?: Urgency,
  ): Promise<void> {
    if (changes?.length === 0) return;
    if (changes && (this.#listeners.size === 0 || this.#areNext(changes)))
      for (const change of changes) this.#deliver(change);
    else if (this.#listeners.size > 0) await this.#readSoon();
    this.#notifyOthers(leftWork, urgency);
  }

  /** Delivers the first commits of tasks, which were read with a claim. */
  deliverFirst(changes: readonly CommittedChange[]): void {
    if (this.#listeners.size > 0) for (const change of changes) this.#deliver(change);
  }

  async close(): Promise<void> {
    this.#closed = true;
    runtime.clearInterval(this.#fallback);
    this.#listeners.clear();
    this.#workListeners.clear();
    await this.#reading;
  }

  #poll(): void {
    void this.#readSoon();
    if (!this.#liveness.listens) this.#notifyWork();
  }

  #notifyOthers(leftWork: boolean, urgency?: Urgency): void {
    this.#liveness.notify(leftWork, urgency);
    if (leftWork) this.#notifyWork();
  }

  #notifyWork(): void {
    for (const listener of [...this.#workListeners]) callListener(listener);
  }

  /** Whether no version is missing between the delivered ones and these. */
  #areNext(changes: readonly Pick<CommittedChange, 'taskId' | 'version'>[]): boolean {
    const last = new Map<TaskId, number>();
    return changes.every(({ taskId, version }) => {
      const before = last.get(taskId) ?? Math.max(0, this.#versions.get(taskId) ?? 0);
      last.set(taskId, Math.max(version, before));
      return version <= before + 1;
    });
  }

  #isDelivered(taskId: TaskId, version: number): boolean {
    const last = this.#versions.get(taskId) ?? 0;
    // After its removal, a new task may have the same id and begin with version 1.
    return last < 0 ? version !== 1 && version <= -last : version <= last;
  }

  #deliver(change: CommittedChange): void {
    const { taskId, version, events } = change;
    if (this.#isDelivered(taskId, version)) return;
    const isRemoved = events.some(({ type }) => type === 'removed');
    this.#versions.set(taskId, isRemoved ? -version : version);
    for (const listener of [...this.#listeners]) callListener(() => listener(change));
  }

  /** Reads new commits. The read begins after this call; concurrent calls share it. */
  #readSoon(): Promise<void> {
    this.#requested ??= Promise.withResolvers();
    const { promise } = this.#requested;
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined;
    });
    return promise;
  }

  async #readAll(): Promise<void> {
    while (this.#requested) {
      const { resolve } = this.#requested;
      this.#requested = undefined;
      // If the server stays unreachable, the next read catches up.
      if (!this.#closed) await this.#read().catch(() => {});
      resolve();
    }
  }

  /** Reads and delivers all commits since the last read. */
  async #read(): Promise<void> {
    const from = this.#position;
    if (from === undefined || this.#listeners.size === 0) return this.#skip();
    const stepsBack = runtime.monotonic() < this.#stepsBackUntil;
    let { snapshot, found } = await this.#since(stepsBack ? this.#before(from) : from);
    if (!stepsBack && this.#hasGap(found)) ({ snapshot, found } = await this.#since(this.#before(from)));
    const changes = this.#changesIn(found);
    this.#position = positionOf(snapshot);
    for (const change of changes) this.#deliver(change);
  }

  /** Undelivered commits after a position. */
  async #since({ end, open }: Position): Promise<{ snapshot: string; found: FoundRow[] }> {
    const rows = await this.#connections.query<CommitRow>(this.#sql.since, [end, open]);
    // Tasks that are created in these rows, perhaps with the id of a removed task. All their later commits are new,
    // too.
    const created = new Set<string>();
    const isNew = (row: CommitRow): row is FoundRow => {
      if (row.id === null) return false;
      if (row.version === 1) created.add(row.id);
      return created.has(row.id) || !this.#isDelivered(named(row.id), row.version);
    };
    return { snapshot: rows[0]!.snapshot, found: rows.filter(isNew) };
  }

  /** Whether versions are missing. Of tasks without a delivered version this is unknown. */
  #hasGap(found: readonly FoundRow[]): boolean {
    const seen = found.map(({ id, version }) => ({ taskId: named(id), version }));
    return !this.#areNext(seen.filter(({ taskId }) => (this.#versions.get(taskId) ?? 0) > 0));
  }

  /** The position `stepBack` transactions earlier, but not before `#floor`. */
  #before({ end, open }: Position): Position {
    const back = BigInt(end) - stepBack;
    return { end: String(back > this.#floor ? back : this.#floor), open };
  }

  /** An unreadable commit is delivered without events. */
  #changesIn(rows: readonly FoundRow[]): CommittedChange[] {
    return rows.map(({ id, root_id, version, at, events }) => {
      const [taskId, rootId] = [named(id), named(root_id)];
      if (events === null) return { taskId, rootId, version, at, events: [{ type: 'removed' }] };
      const read = () => this.#vault.read(events, 'commits.events', taskId, version);
      return { taskId, rootId, version, at, events: eventsOrNone(taskId, read) };
    });
  }

  /** Without listeners, advances the position and delivers nothing. */
  async #skip(): Promise<void> {
    const [row] = await this.#connections.query<{ snapshot: string }>(this.#sql.position);
    // A listener that was added in the meantime receives everything since the old position.
    if (this.#position !== undefined && this.#listeners.size > 0) return;
    this.#position = positionOf(row!.snapshot);
    this.#floor = BigInt(this.#position.end);
  }
}

/**
 * The last delivered version of recent tasks, negative if it was the removal. Evicts in bulk, because finding the
 * oldest entry each time would take longer than everything else.
 */
class RecentVersions {
  #recent = new Map<TaskId, number>();
  #older = new Map<TaskId, number>();

  get(id: TaskId): number | undefined {
    return this.#recent.get(id) ?? this.#older.get(id);
  }

  set(id: TaskId, version: number): void {
    this.#recent.set(id, version);
    if (this.#recent.size < minRemembered) return;
    this.#older = this.#recent;
    this.#recent = new Map();
  }
}

/** Parses a snapshot as Postgres writes it: `xmin:xmax:open,open`. */
function positionOf(snapshot: string): Position {
  const [, end = '', open = ''] = snapshot.split(':');
  return { end, open: open === '' ? [] : open.split(',') };
}

function statements(schema: string) {
  const isNew = '(xact >= $1::text::xid8 or xact = any($2::text[]::xid8[]))';
  return prepared({
    position: 'select pg_current_snapshot()::text as snapshot',
    // A removal deletes the commits of its task. So any remaining commits belong to a later task, perhaps with the same
    // id, and removals come first (`task` is 0). The left join returns the snapshot even without commits.
    since: `
      select now.snapshot, found.* from (select pg_current_snapshot()::text as snapshot) now
      left join (
        select 0 as task, id, id as root_id, version, at, null as events from ${schema}.removals where ${isNew}
        union all
        select c.task, t.id, coalesce(t.root_id, t.id), c.version, c.at, c.events from ${schema}.commits c
        cross join lateral (select id, root_id from ${schema}.tasks where seq = c.task offset 0) t where ${isNew}
      ) found on true
      order by found.task, found.version`,
  });
}
