/**
 * What was committed, by this process and by others. A snapshot of the server says exactly which transactions it has
 * seen end, so that what is new since the last look can be read without gaps and without repeats, in whatever order
 * transactions commit. Other processes say that there is something to read; what they say may get lost, so a look
 * every now and then, and one after each reconnection, makes up for it.
 *
 * A server that crashes forgets numbers of transactions that it had given out, and gives them to others: what they
 * commit lies where we have looked already. So for a while after a reconnection each look steps back, and whatever is
 * told, versions of a task that were left out are told before.
 *
 * What this process commits itself is told before its callers hear of it, without being read again, if the version
 * before it was told already; otherwise a look comes first, which finds both in their order.
 */
import type { CommitNotice } from '../../engine/store.ts';
import type { TaskEvent } from '../../model/event.ts';
import { runtime, type Timer } from '../../model/runtime.ts';
import type { TaskId } from '../../model/task.ts';
import { eventsOf } from '../values/sound.ts';
import { name, named } from './cells.ts';
import { prepared } from './driver.ts';
import type { Line } from './line.ts';
import { Meanwhile } from './meanwhile.ts';
import type { Connections } from './pool.ts';
import { RecentNumbers } from './recent-numbers.ts';
import type { Vault } from './vault.ts';
import type { NumberedNotice } from './writes.ts';

const netMs = 2_000;
/** How far looks step back after a reconnection, in transactions, and for how long. */
const stepBack = 10_000n;
const steppingBackMs = 15_000;
/** So many tasks at least are remembered with the version that was last told of them, and twice as many at most. */
const remembered = 10_000;

interface CommitRow {
  readonly snapshot: string;
  readonly seq: number | null;
  readonly id: string;
  readonly root_id: string;
  readonly version: number;
  readonly at: number;
  readonly events: string;
}

/** Which transactions had ended, and which had not. */
interface Position {
  readonly end: string;
  readonly open: readonly string[];
}

export class Feed {
  readonly #connections: Connections;
  readonly #vault: Vault;
  readonly #line: Line;
  readonly #sql: ReturnType<typeof statements>;
  readonly #listeners = new Set<(commit: CommitNotice) => void>();
  readonly #stirred = new Set<() => void>();
  /** Commits that were told before a look found them, by the numbers of their rows, until one has passed them. */
  readonly #told = new Set<number>();
  /** What looks have found while own transactions were under way of which the end had not been heard. */
  readonly #found = new Meanwhile();
  readonly #versions = new RecentVersions();
  /** For looks that step back: of a task whose version is forgotten its commits may have been told all the same. */
  readonly #numbers = new RecentNumbers();
  readonly #net: Timer;
  #position: Position | undefined;
  /** What ended before it was never ours to tell. */
  #floor = 0n;
  #stepsBackUntil = 0;
  #looking: Promise<void> | undefined;
  #asked: PromiseWithResolvers<boolean> | undefined;
  #closed = false;

  constructor(connections: Connections, vault: Vault, line: Line, schema: string) {
    this.#connections = connections;
    this.#vault = vault;
    this.#line = line;
    this.#sql = statements(schema);
    line.onNews(({ work }) => {
      if (this.#listeners.size > 0) void this.#lookSoon();
      if (work) this.#stir();
    });
    line.onMissed(() => {
      this.#stepsBackUntil = runtime.monotonic() + steppingBackMs;
      void this.#lookSoon();
      this.#stir();
    });
    this.#net = runtime.setInterval(() => void this.#lookSoon(), netMs).unref();
  }

  /** Takes the position from which on everything is told. */
  async start(): Promise<void> {
    await this.#look();
  }

  subscribe(listener: (commit: CommitNotice) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls back when a commit has left work for someone, and whenever that may have been missed. */
  onStir(listener: () => void): () => void {
    this.#stirred.add(listener);
    return () => this.#stirred.delete(listener);
  }

  /**
   * Something may be about to be committed here: a look may find it before we hear of it. Returns how to say that it has
   * ended, one way or another.
   */
  committing(): () => void {
    return this.#found.begin();
  }

  /** Resolves when everybody here has been told of what was just committed here. */
  async committed(notices: readonly NumberedNotice[], leftWork: boolean): Promise<void> {
    if (notices.length === 0) return;
    if (this.#listeners.size === 0 || this.#areNext(notices) || (await this.#lookSoon())) {
      const leftOut = this.#listeners.size === 0 ? [] : await this.#leftOutBefore(notices).catch(() => []);
      for (const notice of leftOut) this.#find(notice);
      for (const notice of notices) this.#tellOwn(notice);
    } // Otherwise a later look will tell.
    this.#tellOthers(leftWork);
  }

  /** The same of what was committed under numbers that were not heard. */
  async committedUnheard(leftWork: boolean): Promise<void> {
    if (this.#listeners.size > 0) await this.#lookSoon();
    this.#tellOthers(leftWork);
  }

  /**
   * Commits of others that were read by the way are told at once, so that no look is needed before what is done about
   * them here can be told. What a look has passed was told then.
   */
  seen(notices: readonly (NumberedNotice & { readonly xact: string })[]): void {
    const position = this.#position;
    if (!position || this.#listeners.size === 0 || runtime.monotonic() < this.#stepsBackUntil) return;
    for (const { xact, ...notice } of notices) {
      const isPassed = BigInt(xact) < BigInt(position.end) && !position.open.includes(xact);
      const isTold = this.#told.has(notice.seq) || notice.version <= (this.#versions.get(notice.taskId) ?? 0);
      if (isPassed || isTold) continue;
      this.#found.add(notice.seq);
      this.#told.add(notice.seq);
      this.#tell(notice);
    }
  }

  #tellOthers(leftWork: boolean): void {
    this.#line.tell({ work: leftWork });
    if (leftWork) this.#stir();
  }

  async close(): Promise<void> {
    this.#closed = true;
    runtime.clearInterval(this.#net);
    this.#listeners.clear();
    this.#stirred.clear();
    await this.#looking;
  }

  #areNext(notices: readonly NumberedNotice[]): boolean {
    const last = new Map<TaskId, number>();
    return notices.every(({ taskId, version }) => {
      const before = last.get(taskId) ?? this.#versions.get(taskId) ?? 0;
      last.set(taskId, version);
      return version <= before + 1;
    });
  }

  #tellOwn(notice: NumberedNotice): void {
    if (this.#found.delete(notice.seq)) return;
    this.#told.add(notice.seq);
    this.#tell(notice);
  }

  #tell({ seq, taskId, rootId, version, at, events }: NumberedNotice): void {
    this.#versions.set(taskId, version);
    this.#numbers.add(seq);
    for (const listener of [...this.#listeners])
      quietly(() => listener({ taskId, rootId, version, at, events }));
  }

  #stir(): void {
    for (const listener of [...this.#stirred]) quietly(listener);
  }

  /** A look that begins after this call; those who ask meanwhile share it. False if it came to nothing. */
  #lookSoon(): Promise<boolean> {
    this.#asked ??= Promise.withResolvers();
    const { promise } = this.#asked;
    this.#looking ??= this.#looks().finally(() => {
      this.#looking = undefined;
    });
    return promise;
  }

  async #looks(): Promise<void> {
    while (this.#asked) {
      const { resolve } = this.#asked;
      this.#asked = undefined;
      // If the server is away for longer than anybody waits, the next look makes up for it.
      resolve(
        !this.#closed &&
          (await this.#look()
            .then(() => true)
            .catch(() => false)),
      );
    }
  }

  async #look(): Promise<void> {
    const from = this.#position;
    if (from === undefined || this.#listeners.size === 0) return this.#pass();
    const stepsBack = runtime.monotonic() < this.#stepsBackUntil;
    const end = stepsBack ? this.#before(from.end) : from.end;
    const told = [...this.#told];
    const rows = await this.#connections.query<CommitRow>(this.#sql.since, [end, from.open]);
    const found = this.#noticesIn(stepsBack ? rows.filter((row) => this.#isNew(row)) : rows);
    const leftOut = await this.#leftOutBefore(found);
    this.#position = positionOf(rows[0]!.snapshot);
    for (const notice of leftOut) this.#find(notice);
    for (const notice of found) this.#find(notice);
    // Commits go with their task, so that what was told need not be there to be found.
    for (const seq of told) this.#told.delete(seq);
  }

  /** How many commits are remembered, for tests that none is left behind. */
  get remembered(): number {
    return this.#told.size + this.#found.size;
  }

  #isNew({ seq, id, version }: CommitRow): boolean {
    if (seq === null) return false;
    const told = this.#versions.get(named(id));
    return told === undefined ? !this.#numbers.has(seq) : version > told;
  }

  #before(end: string): string {
    const back = BigInt(end) - stepBack;
    return String(back > this.#floor ? back : this.#floor);
  }

  /** A commit that cannot be read is told without its events. */
  #noticesIn(rows: readonly CommitRow[]): NumberedNotice[] {
    const eventsIn = ({ id, version, events }: CommitRow) =>
      eventsOf(named(id), () => this.#vault.read(events, 'commits.events', named(id), version));
    return rows.flatMap((row) => (row.seq === null ? [] : [this.#noticeOf(row, row.seq, eventsIn)]));
  }

  /** Commits of which nobody was told, though a later one of the same task is to be. */
  async #leftOutBefore(notices: readonly NumberedNotice[]): Promise<NumberedNotice[]> {
    const last = new Map<TaskId, number>();
    const gaps = new Map<TaskId, { readonly after: number; readonly before: number }>();
    for (const { taskId, version } of notices) {
      const before = last.get(taskId) ?? this.#versions.get(taskId);
      last.set(taskId, Math.max(version, before ?? 0));
      if (before !== undefined && version > before + 1 && !gaps.has(taskId))
        gaps.set(taskId, { after: before, before: version });
    }
    if (gaps.size === 0) return [];
    const rows = await this.#connections.query<CommitRow>(this.#sql.between, [
      [...gaps.keys()].map(name),
      [...gaps.values()].map(({ after }) => after),
      [...gaps.values()].map(({ before }) => before),
    ]);
    return this.#noticesIn(rows);
  }

  /** While nobody listens it is enough to know where we are. */
  async #pass(): Promise<void> {
    const told = [...this.#told];
    const [row] = await this.#connections.query<{ snapshot: string }>(this.#sql.position);
    // Whoever came meanwhile is to hear of everything since then.
    if (this.#position !== undefined && this.#listeners.size > 0) return;
    this.#position = positionOf(row!.snapshot);
    this.#floor = BigInt(this.#position.end);
    for (const seq of told) this.#told.delete(seq);
  }

  #find(notice: NumberedNotice): void {
    if (this.#told.delete(notice.seq)) return;
    this.#found.add(notice.seq);
    this.#tell(notice);
  }

  #noticeOf(row: CommitRow, seq: number, eventsIn: (row: CommitRow) => readonly TaskEvent[]): NumberedNotice {
    const { id, root_id, version, at } = row;
    const events = this.#told.has(seq) ? [] : eventsIn(row);
    return { seq, taskId: named(id), rootId: named(root_id), version, at, events };
  }
}

/** Forgets in bulk: to look for the oldest one each time would take longer than all the rest. */
class RecentVersions {
  #recent = new Map<TaskId, number>();
  #older = new Map<TaskId, number>();

  get(id: TaskId): number | undefined {
    return this.#recent.get(id) ?? this.#older.get(id);
  }

  set(id: TaskId, version: number): void {
    this.#recent.set(id, version);
    if (this.#recent.size < remembered) return;
    this.#older = this.#recent;
    this.#recent = new Map();
  }
}

/** `xmin:xmax:open,open`, as Postgres writes it. */
function positionOf(snapshot: string): Position {
  const [, end = '', open = ''] = snapshot.split(':');
  return { end, open: open === '' ? [] : open.split(',') };
}

/** A listener's error is its own: it surfaces as uncaught, and neither the commit nor other listeners suffer. */
function quietly(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

function statements(schema: string) {
  return prepared({
    position: 'select pg_current_snapshot()::text as snapshot',
    since: `
      select now.snapshot, news.* from (select pg_current_snapshot()::text as snapshot) now
      left join (
        select c.seq, coalesce(t.id, c.removed_id) as id, coalesce(t.root_id, t.id, c.removed_id) as root_id,
          c.version, c.at, c.events
        from ${schema}.commits c
        left join lateral (select id, root_id from ${schema}.tasks where seq = c.task offset 0) t on true
        where (c.xact >= $1::text::xid8 or c.xact = any($2::text[]::xid8[]))
          and coalesce(t.id, c.removed_id) is not null
      ) news on true
      order by news.seq`,
    between: `
      select c.seq, t.id, coalesce(t.root_id, t.id) as root_id, c.version, c.at, c.events
      from unnest($1::text[], $2::integer[], $3::integer[]) as v (id, after, before)
      cross join lateral (select seq, id, root_id from ${schema}.tasks where id = v.id offset 0) t
      cross join lateral (
        select seq, version, at, events from ${schema}.commits
        where task = t.seq and version > v.after and version < v.before offset 0) c
      order by t.seq, c.version`,
  });
}
