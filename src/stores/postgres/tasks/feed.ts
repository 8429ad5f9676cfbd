/**
 * What was committed, by this process and by others: every commit at least once, and those of a task in their order.
 * Versions that were delivered already are dropped, for as long as they are remembered.
 *
 * A snapshot of the server says which transactions had ended, so that everything new since the last look can be read,
 * in whatever order transactions commit. Other processes report that there is something to read; messages may get lost,
 * so a look every now and then, and one after each reconnection, makes up for it.
 *
 * A server that crashes forgets numbers of transactions that it had given out, and gives them to others: what they
 * commit lies before the position of the last look. So for a while after a reconnection, and when a version is missing,
 * looks step back.
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

/** How often is looked although nobody reported anything; the shorter one where nobody can. */
const netMs = 2_000;
const pollMs = 200;
/** How far looks step back after a reconnection, in transactions, and for how long. */
const stepBack = 10_000n;
const steppingBackMs = 15_000;
/** So many tasks at least are remembered with the version that was last delivered, and twice as many at most. */
const remembered = 10_000;

interface CommitRow {
  readonly snapshot: string;
  readonly id: string | null;
  readonly root_id: string;
  readonly version: number;
  readonly at: number;
  /** Null if the task was removed. */
  readonly events: string | null;
}

type FoundRow = CommitRow & { readonly id: string };

/** Which transactions had ended, and which had not. */
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
  readonly #net: Timer;
  #position: Position | undefined;
  /** What ended before it was never ours to deliver. */
  #floor = 0n;
  #stepsBackUntil = 0;
  #looking: Promise<void> | undefined;
  #asked: PromiseWithResolvers<void> | undefined;
  #closed = false;

  constructor(connections: Connections, vault: Vault, liveness: Liveness, schema: string) {
    this.#connections = connections;
    this.#vault = vault;
    this.#liveness = liveness;
    this.#sql = statements(schema);
    liveness.onCommit((isWork) => {
      if (this.#listeners.size > 0) void this.#lookSoon();
      if (isWork) this.#workCame();
    });
    liveness.onMissed(() => {
      this.#stepsBackUntil = runtime.monotonic() + steppingBackMs;
      void this.#lookSoon();
      this.#workCame();
    });
    this.#net = runtime.setInterval(() => this.#poll(), liveness.listens ? netMs : pollMs).unref();
  }

  /** Takes the position from which on everything is delivered. */
  async start(): Promise<void> {
    await this.#look();
  }

  subscribe(listener: (commit: CommittedChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls back when a commit has left work for someone, and whenever that may have been missed. */
  onWork(listener: () => void): () => void {
    this.#workListeners.add(listener);
    return () => this.#workListeners.delete(listener);
  }

  /**
   * Delivers what this process has committed. If a version before it has not been delivered, it is read from the
   * database together with that one, and so is everything if what was committed is not known. Resolves once all
   * listeners were called, or the server cannot be reached.
   */
  async committed(
    notices: readonly CommittedChange[] | undefined,
    leftWork: boolean,
    urgency?: Urgency,
  ): Promise<void> {
    if (notices?.length === 0) return;
    if (notices && (this.#listeners.size === 0 || this.#areNext(notices)))
      for (const notice of notices) this.#deliver(notice);
    else if (this.#listeners.size > 0) await this.#lookSoon();
    this.#report(leftWork, urgency);
  }

  /** Delivers the first commits of tasks, which were read in another way. */
  deliverFirst(notices: readonly CommittedChange[]): void {
    if (this.#listeners.size > 0) for (const notice of notices) this.#deliver(notice);
  }

  async close(): Promise<void> {
    this.#closed = true;
    runtime.clearInterval(this.#net);
    this.#listeners.clear();
    this.#workListeners.clear();
    await this.#looking;
  }

  #poll(): void {
    void this.#lookSoon();
    if (!this.#liveness.listens) this.#workCame();
  }

  #report(leftWork: boolean, urgency?: Urgency): void {
    this.#liveness.notify(leftWork, urgency);
    if (leftWork) this.#workCame();
  }

  #workCame(): void {
    for (const listener of [...this.#workListeners]) callListener(listener);
  }

  /** Whether no version is missing before these. */
  #areNext(notices: readonly Pick<CommittedChange, 'taskId' | 'version'>[]): boolean {
    const last = new Map<TaskId, number>();
    return notices.every(({ taskId, version }) => {
      const before = last.get(taskId) ?? Math.max(0, this.#versions.get(taskId) ?? 0);
      last.set(taskId, Math.max(version, before));
      return version <= before + 1;
    });
  }

  #isDelivered(taskId: TaskId, version: number): boolean {
    const last = this.#versions.get(taskId) ?? 0;
    // After its removal a task of the same id may be made: it begins with version 1 again.
    return last < 0 ? version !== 1 && version <= -last : version <= last;
  }

  #deliver(notice: CommittedChange): void {
    const { taskId, version, events } = notice;
    if (this.#isDelivered(taskId, version)) return;
    const isRemoved = events.some(({ type }) => type === 'removed');
    this.#versions.set(taskId, isRemoved ? -version : version);
    for (const listener of [...this.#listeners]) callListener(() => listener(notice));
  }

  /** A look that begins after this call; those who ask meanwhile share it. */
  #lookSoon(): Promise<void> {
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
      if (!this.#closed) await this.#look().catch(() => {});
      resolve();
    }
  }

  async #look(): Promise<void> {
    const from = this.#position;
    if (from === undefined || this.#listeners.size === 0) return this.#pass();
    const stepsBack = runtime.monotonic() < this.#stepsBackUntil;
    let { snapshot, found } = await this.#since(stepsBack ? this.#before(from) : from);
    if (!stepsBack && this.#hasGap(found)) ({ snapshot, found } = await this.#since(this.#before(from)));
    const notices = this.#noticesIn(found);
    this.#position = positionOf(snapshot);
    for (const notice of notices) this.#deliver(notice);
  }

  /** Commits after that position that were not delivered; of first ones the removal of a task before may decide. */
  async #since({ end, open }: Position): Promise<{ snapshot: string; found: FoundRow[] }> {
    const rows = await this.#connections.query<CommitRow>(this.#sql.since, [end, open]);
    // Tasks that begin in these rows, maybe under the id of a task that was removed: the rest of them is new, too.
    const begun = new Set<string>();
    const isNew = (row: CommitRow): row is FoundRow => {
      if (row.id === null) return false;
      if (row.version === 1) begun.add(row.id);
      return begun.has(row.id) || !this.#isDelivered(named(row.id), row.version);
    };
    return { snapshot: rows[0]!.snapshot, found: rows.filter(isNew) };
  }

  #hasGap(found: readonly FoundRow[]): boolean {
    const seen = found.map(({ id, version }) => ({ taskId: named(id), version }));
    return !this.#areNext(seen.filter(({ taskId }) => (this.#versions.get(taskId) ?? 0) > 0));
  }

  #before({ end, open }: Position): Position {
    const back = BigInt(end) - stepBack;
    return { end: String(back > this.#floor ? back : this.#floor), open };
  }

  /** A commit that cannot be read is delivered without its events. */
  #noticesIn(rows: readonly FoundRow[]): CommittedChange[] {
    return rows.map(({ id, root_id, version, at, events }) => {
      const [taskId, rootId] = [named(id), named(root_id)];
      if (events === null) return { taskId, rootId, version, at, events: [{ type: 'removed' }] };
      const read = () => this.#vault.read(events, 'commits.events', taskId, version);
      return { taskId, rootId, version, at, events: eventsOrNone(taskId, read) };
    });
  }

  /** While nobody listens it is enough to know where we are. */
  async #pass(): Promise<void> {
    const [row] = await this.#connections.query<{ snapshot: string }>(this.#sql.position);
    // A listener that came meanwhile is to hear of everything since then.
    if (this.#position !== undefined && this.#listeners.size > 0) return;
    this.#position = positionOf(row!.snapshot);
    this.#floor = BigInt(this.#position.end);
  }
}

/** The version of each task that was delivered last, negative if that was its removal. Forgets in bulk: to look for the oldest one each time would take longer than all the rest. */
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

function statements(schema: string) {
  const isNew = '(xact >= $1::text::xid8 or xact = any($2::text[]::xid8[]))';
  return prepared({
    // The commits of a task go with it, so removals are of earlier tasks, maybe of the same id, and come first.
    position: 'select pg_current_snapshot()::text as snapshot',
    since: `
      select now.snapshot, news.* from (select pg_current_snapshot()::text as snapshot) now
      left join (
        select 0 as task, id, id as root_id, version, at, null as events from ${schema}.removals where ${isNew}
        union all
        select c.task, t.id, coalesce(t.root_id, t.id), c.version, c.at, c.events from ${schema}.commits c
        cross join lateral (select id, root_id from ${schema}.tasks where seq = c.task offset 0) t where ${isNew}
      ) news on true
      order by news.task, news.version`,
  });
}
