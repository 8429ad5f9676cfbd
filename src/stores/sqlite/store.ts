import type { Change, Family, Verdict } from '../../engine/change.ts';
import { crashPoint } from '../../engine/crash-point.ts';
import type {
  ClaimedChange,
  ClaimQuery,
  ClaimRule,
  Claims,
  CommitNotice,
  CommitOfTask,
  Due,
  IdempotencyScope,
  ListQuery,
  Page,
  Reach,
  Store,
} from '../../engine/store.ts';
import { StoreClosed } from '../../engine/store-errors.ts';
import type { Clock } from '../../model/clock.ts';
import { Refusal, TaskNotFound } from '../../model/errors.ts';
import type { Json } from '../../model/json.ts';
import type { Owner, Task, TaskId } from '../../model/task.ts';
import type { SqliteAudit } from './audit.ts';
import { worded } from './driver.ts';
import type { Feed } from './feed.ts';
import type { GroupCommit } from './group-commit.ts';
import type { ReadyTask, SqliteQueue } from './queue.ts';
import type { Rows } from './rows.ts';

/** The `Store` on SQLite: look-ups read at once, commands wait for their place in a group commit. */
export class SqliteStore implements Store {
  readonly #rows: Rows;
  readonly #audit: SqliteAudit;
  readonly #commands: GroupCommit;
  readonly #feed: Feed;
  readonly #queue: SqliteQueue;
  readonly #clock: Clock;
  readonly #file: string;
  readonly #close: () => Promise<void>;
  #closed: Promise<void> | undefined;

  constructor(parts: {
    readonly rows: Rows;
    readonly audit: SqliteAudit;
    readonly commands: GroupCommit;
    readonly feed: Feed;
    readonly queue: SqliteQueue;
    readonly clock: Clock;
    readonly file: string;
    readonly close: () => Promise<void>;
  }) {
    this.#rows = parts.rows;
    this.#audit = parts.audit;
    this.#commands = parts.commands;
    this.#feed = parts.feed;
    this.#queue = parts.queue;
    this.#clock = parts.clock;
    this.#file = parts.file;
    this.#close = parts.close;
  }

  create(
    bearing: IdempotencyScope | { readonly id: TaskId } | undefined,
    decide: (existing: Task | undefined) => Verdict,
  ): Promise<Change> {
    return this.#command(() => decide(bearing && this.#bearer(bearing)));
  }

  update<R extends keyof Reach>(
    reach: R,
    id: TaskId,
    decide: (subject: Reach[R]) => Verdict,
  ): Promise<Change> {
    return this.#command(() => {
      const around = reach === 'family' ? this.#rows.family(id) : this.#rows.lineage(id, reach === 'lineage');
      if (!around) return new TaskNotFound(id);
      return decide((reach === 'task' ? around.task : around) as Reach[R]);
    });
  }

  async claim(query: ClaimQuery, decide: ClaimRule): Promise<Claims> {
    const ready = await this.#look(() => this.#queue.select(query));
    crashPoint('claim: chosen');
    if (ready.length === 0) return { claimed: [], failed: [] };
    return this.#commands.submit(() => this.#claimAll(ready, decide));
  }

  async get(id: TaskId, owner?: Owner): Promise<Task | undefined> {
    return this.#look(() => this.#rows.get(id, owner));
  }

  async family(id: TaskId): Promise<Family | undefined> {
    return this.#look(() => this.#rows.family(id));
  }

  async asking(rootId: TaskId): Promise<Task[]> {
    return this.#look(() => this.#rows.asking(rootId));
  }

  async childIds(id: TaskId): Promise<TaskId[]> {
    return this.#look(() => this.#rows.childIds(id));
  }

  async list(query: ListQuery): Promise<Page> {
    return this.#look(() => this.#rows.list(query));
  }

  async count(owner: Owner | undefined, what: 'live' | 'kept', upTo: number): Promise<number> {
    return this.#look(() => this.#rows.count(owner, what, upTo));
  }

  async commitsOf(id: TaskId, afterVersion: number, limit: number): Promise<CommitOfTask[]> {
    return this.#look(() => this.#rows.commitsOf(id, afterVersion, limit));
  }

  async journal(id: TaskId): Promise<Json[]> {
    return this.#look(() => this.#rows.journal(id));
  }

  async due(what: Due, now: number, limit: number): Promise<TaskId[]> {
    return this.#look(() => this.#rows.due(what, now, limit));
  }

  leaveOut(before: number, limit: number): Promise<number> {
    return this.#commands.submit(() => this.#rows.leaveOut(before, limit));
  }

  async size(): Promise<number> {
    return this.#look(() => this.#rows.size());
  }

  subscribe(listener: (commit: CommitNotice) => void): () => void {
    return this.#look(() => this.#feed.subscribe(listener));
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #bearer(scope: IdempotencyScope | { readonly id: TaskId }): Task | undefined {
    return 'id' in scope ? this.#rows.get(scope.id) : this.#rows.withKey(scope);
  }

  #command(decide: () => Verdict): Promise<Change> {
    return this.#commands.submit(() => {
      this.#rows.begin();
      const verdict = decide();
      if (verdict instanceof Refusal) throw verdict;
      if (verdict.audit) this.#audit.write(verdict.audit);
      // Last: once it has gone through, whoever follows the commits will hear of them.
      this.#rows.apply(verdict, this.#clock.now());
      return verdict;
    });
  }

  /** Inside a transaction. A task that cannot be read affects no other. */
  #claimAll(ready: readonly ReadyTask[], decide: ClaimRule): Claims {
    const claimed: ClaimedChange[] = [];
    const failed: { taskId: TaskId; error: unknown }[] = [];
    this.#rows.begin();
    for (const { taskId, freed } of ready) {
      try {
        const task = this.#rows.lineage(taskId, false)?.task;
        const verdict = task && decide(task, freed);
        if (verdict && !(verdict instanceof Refusal)) claimed.push({ change: verdict });
      } catch (error) {
        if (!this.#rows.isInTransaction) throw error;
        failed.push({ taskId, error: worded(error, this.#file) });
      }
    }
    const changes = claimed.map(({ change }) => change);
    for (const { audit } of changes) if (audit) this.#audit.write(audit);
    this.#rows.apply({ writes: changes.flatMap(({ writes }) => writes), removed: [] }, this.#clock.now());
    return { claimed, failed };
  }

  #look<T>(read: () => T): T {
    if (this.#closed) throw new StoreClosed(this.#file);
    try {
      return read();
    } catch (error) {
      throw worded(error, this.#file);
    }
  }
}
