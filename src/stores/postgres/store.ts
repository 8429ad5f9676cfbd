import type { Change, Family, Verdict } from '../../engine/change.ts';
import type {
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
import type { Json } from '../../model/json.ts';
import type { Owner, Task, TaskId } from '../../model/task.ts';
import type { Commands } from './commands.ts';
import { worded } from './driver.ts';
import type { Feed } from './feed.ts';
import type { PostgresQueue } from './queue.ts';
import type { Rows } from './rows.ts';

/** The `Store` on Postgres: look-ups read at once, commands share transactions. */
export class PostgresStore implements Store {
  readonly #rows: Rows;
  readonly #commands: Commands;
  readonly #feed: Feed;
  readonly #queue: PostgresQueue;
  readonly #size: () => Promise<number>;
  readonly #place: string;
  readonly #close: () => Promise<void>;
  #closed: Promise<void> | undefined;

  constructor(parts: {
    readonly rows: Rows;
    readonly commands: Commands;
    readonly feed: Feed;
    readonly queue: PostgresQueue;
    readonly size: () => Promise<number>;
    readonly place: string;
    readonly close: () => Promise<void>;
  }) {
    this.#rows = parts.rows;
    this.#commands = parts.commands;
    this.#feed = parts.feed;
    this.#queue = parts.queue;
    this.#size = parts.size;
    this.#place = parts.place;
    this.#close = parts.close;
  }

  create(
    bearing: IdempotencyScope | { readonly id: TaskId } | undefined,
    decide: (existing: Task | undefined) => Verdict,
  ): Promise<Change> {
    return this.#commands.submit({ kind: 'create', bearing, decide });
  }

  update<R extends keyof Reach>(
    reach: R,
    id: TaskId,
    decide: (subject: Reach[R]) => Verdict,
  ): Promise<Change> {
    return this.#commands.submit({
      kind: 'update',
      reach,
      id,
      decide: decide as (subject: Reach[keyof Reach]) => Verdict,
    });
  }

  async claim(query: ClaimQuery, decide: ClaimRule): Promise<Claims> {
    const looksAtHeld = this.#queue.looksAtHeld();
    const { claimed, failed, ...expected } = await this.#commands.claim({ query, decide, looksAtHeld });
    this.#queue.expect(expected);
    return { claimed, failed };
  }

  get(id: TaskId, owner?: Owner): Promise<Task | undefined> {
    return this.#look(() => this.#rows.get(id, owner));
  }

  family(id: TaskId): Promise<Family | undefined> {
    return this.#look(() => this.#rows.family(id));
  }

  asking(rootId: TaskId): Promise<Task[]> {
    return this.#look(() => this.#rows.asking(rootId));
  }

  childIds(id: TaskId): Promise<TaskId[]> {
    return this.#look(() => this.#rows.childIds(id));
  }

  list(query: ListQuery): Promise<Page> {
    return this.#look(() => this.#rows.list(query));
  }

  count(owner: Owner | undefined, what: 'live' | 'kept', upTo: number): Promise<number> {
    return this.#look(() => this.#rows.count(owner, what, upTo));
  }

  commitsOf(id: TaskId, afterVersion: number, limit: number): Promise<CommitOfTask[]> {
    return this.#look(() => this.#rows.commitsOf(id, afterVersion, limit));
  }

  journal(id: TaskId): Promise<Json[]> {
    return this.#look(() => this.#rows.journal(id));
  }

  due(what: Due, now: number, limit: number): Promise<TaskId[]> {
    return this.#look(() => this.#rows.due(what, now, limit));
  }

  leaveOut(before: number, limit: number): Promise<number> {
    return this.#look(() => this.#rows.leaveOut(before, limit));
  }

  size(): Promise<number> {
    return this.#look(() => this.#size());
  }

  subscribe(listener: (commit: CommitNotice) => void): () => void {
    if (this.#closed) throw new StoreClosed(this.#place);
    return this.#feed.subscribe(listener);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #look<T>(read: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new StoreClosed(this.#place);
    try {
      return await read();
    } catch (error) {
      throw worded(error, this.#place);
    }
  }
}
