import { Refusal, refusal } from '../../../model/errors.ts';
import type { TaskId } from '../../../model/task.ts';
import type { Change, Verdict } from '../../../ports/change.ts';
import { crashPoint } from '../../../ports/crash-point.ts';
import type { ClaimedChange, ClaimRule, Claims, Reach, Store } from '../../../ports/store.ts';
import { storeClosed } from '../../../ports/store-errors.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { lookups } from '../../shared/look-ups.ts';
import type { Tables } from '../../shared/tables.ts';
import { toStoreError } from '../driver.ts';
import type { Stored } from '../encryption/cells.ts';
import type { ReadyTask, SqliteQueue } from '../queue/queue.ts';
import type { Feed } from './feed.ts';
import type { GroupCommit } from './group-commit.ts';
import type { Rows } from './rows.ts';

/** The `Store` on SQLite: look-ups read immediately, commands wait for a group commit. */
export function sqliteStore(parts: {
  readonly rows: Rows;
  readonly tables: Tables<Stored>;
  readonly commands: GroupCommit;
  readonly feed: Feed;
  readonly queue: SqliteQueue;
  readonly clock: Clock;
  readonly file: string;
  readonly close: () => Promise<void>;
}): Store {
  const { rows, tables, commands, feed, queue, clock, file, close } = parts;
  let closed: Promise<void> | undefined;
  const read = <T>(act: () => T): T => {
    if (closed) throw storeClosed(file);
    try {
      return act();
    } catch (error) {
      throw toStoreError(error, file);
    }
  };
  /** The checks of the shared look-ups run after their rows were read, so a promise can reject with a raw error, too. */
  const look = <T>(act: () => T | Promise<T>): T | Promise<T> => {
    const found = read(act);
    if (!(found instanceof Promise)) return found;
    return found.catch((error: unknown) => {
      throw toStoreError(error, file);
    });
  };
  const command = (decide: () => Verdict): Promise<Change> =>
    commands.submit(() => {
      rows.begin();
      const verdict = decide();
      if (verdict instanceof Refusal) throw verdict;
      // Nothing after this may throw: that would roll back the writes, but they would still be delivered to
      // subscribers.
      rows.apply(verdict, clock.now());
      return verdict;
    });
  /**
   * Claims tasks inside a transaction. A task that cannot be read, or for which the rule throws, does not affect
   * others.
   */
  const claimAll = (ready: readonly ReadyTask[], decide: ClaimRule): Claims => {
    const claimed: ClaimedChange[] = [];
    const failed: { taskId: TaskId; error: unknown }[] = [];
    rows.begin();
    for (const { taskId, freed } of ready) {
      try {
        const task = rows.task(taskId);
        const verdict = task && decide(task, freed);
        if (verdict && !(verdict instanceof Refusal)) claimed.push({ change: verdict });
      } catch (error) {
        // A database error rolled back the whole transaction, so there is nothing to continue.
        if (!rows.isInTransaction) throw error;
        failed.push({ taskId, error: toStoreError(error, file) });
      }
    }
    const changes = claimed.map(({ change }) => change);
    const writes = changes.flatMap((change) => change.writes);
    rows.apply({ writes, removed: [], audit: changes.flatMap(({ audit = [] }) => audit) }, clock.now());
    return { claimed, failed };
  };
  return {
    ...lookups(rows, tables, look),
    // `bearing` identifies an existing task, by its id or idempotency key.
    create: (bearing, decide) =>
      command(() => decide(bearing && ('id' in bearing ? rows.get(bearing.id) : rows.withKey(bearing)))),
    update: <R extends keyof Reach>(reach: R, id: TaskId, decide: (subject: Reach[R]) => Verdict) =>
      command(() => {
        const subject = rows[reach](id);
        return subject ? decide(subject as Reach[R]) : refusal('TASK_NOT_FOUND', id);
      }),
    async claim(query, decide) {
      const ready = await read(() => queue.select(query));
      crashPoint('claim: chosen');
      if (ready.length === 0) return { claimed: [], failed: [] };
      return commands.submit(() => claimAll(ready, decide));
    },
    leaveOut: (before, limit) => commands.submit(() => rows.leaveOut(before, limit)),
    size: async () => read(() => rows.size()),
    subscribe: (listener) => read(() => feed.subscribe(listener)),
    close() {
      closed ??= close();
      return closed;
    },
  };
}
