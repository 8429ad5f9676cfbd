import type { Change, Family, Verdict } from '../../engine/change.ts';
import type {
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
import type { Rows } from './rows.ts';

/** The `Store` on SQLite: look-ups read at once, commands wait for their place in a group commit. */
export class SqliteStore implements Store {
  readonly #rows: Rows;
  readonly #audit: SqliteAudit;
  readonly #commands: GroupCommit;
  readonly #feed: Feed;
  readonly #clock: Clock;
  readonly #file: string;
  readonly #close: () => Promise<void>;
  #closed: Promise<void> | undefined;

  constructor(parts: {
    readonly rows: Rows;
    readonly audit: SqliteAudit;
    readonly commands: GroupCommit;
    readonly feed: Feed;
    readonly clock: Clock;
    readonly file: string;
    readonly close: () => Promise<void>;
  }) {
    this.#rows = parts.rows;
    this.#audit = parts.audit;
    this.#commands = parts.commands;
    this.#feed = parts.feed;
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

  #look<T>(read: () => T): T {
    if (this.#closed) throw new StoreClosed(this.#file);
    try {
      return read();
    } catch (error) {
      throw worded(error, this.#file);
    }
  }
}
