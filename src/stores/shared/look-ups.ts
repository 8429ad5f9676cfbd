/**
 * The read methods of a store. Each database implements some itself (`PerDatabase`); the others (`Shared`) use the same
 * SQL in all databases.
 */
import type { TaskId } from '../../model/task.ts';
import type { Due, Store } from '../../ports/store.ts';
import { Corrupt, readableTasks, readingTask } from './corrupt.ts';
import { numberBefore } from './query/cursor.ts';
import type { Tables, Value } from './tables.ts';
import { eventsIn, type TaskRow, taskOf } from './task-texts.ts';

type PerDatabase = 'get' | 'family' | 'asking' | 'journal';
type Shared = 'childIds' | 'list' | 'count' | 'commitsOf' | 'due';

/** The methods that each database implements itself, synchronously or asynchronously. */
type Rows = {
  readonly [L in PerDatabase]: (
    ...given: Parameters<Store[L]>
  ) => ReturnType<Store[L]> | Awaited<ReturnType<Store[L]>>;
};

/** `read` must run the given function, convert its errors to `StoreError`, and throw if the store is closed. */
export function lookups<Text extends Value>(
  rows: Rows,
  tables: Tables<Text>,
  read: <T>(act: () => T | Promise<T>) => T | Promise<T>,
): Pick<Store, PerDatabase | Shared> {
  const shared = sharedLookups(tables);
  return {
    get: async (id, owner) => read(() => rows.get(id, owner)),
    family: async (id) => read(() => rows.family(id)),
    asking: async (rootId) => read(() => rows.asking(rootId)),
    journal: async (id) => read(() => rows.journal(id)),
    childIds: async (id) => read(() => shared.childIds(id)),
    list: async (query) => read(() => shared.list(query)),
    count: async (owner, what, upTo) => read(() => shared.count(owner, what, upTo)),
    commitsOf: async (id, afterVersion, limit) => read(() => shared.commitsOf(id, afterVersion, limit)),
    due: async (what, now, limit) => read(() => shared.due(what, now, limit)),
  };
}

function sharedLookups<Text extends Value>(tables: Tables<Text>): Pick<Store, Shared> {
  const { prefix, cells, name, by, read } = tables;
  const tasks = `${prefix}tasks`;
  // SQLite recompiles a statement with `limit ?` each time the limit is bound. With a cast it does not.
  const limited = 'limit cast(? as bigint)';
  const dueSql: Readonly<Record<Due, string>> = {
    deadline: `select id from ${tasks} where deadline_at <= ? order by deadline_at ${limited}`,
    purge: `select id from ${tasks} where purge_at <= ? order by purge_at ${limited}`,
    oldest: `select id from ${tasks} where ended_at <= ? order by ended_at, seq ${limited}`,
  };
  const childrenSql = `select id, parent_id, ordinal from ${tasks} where parent_id = ? order by ordinal`;
  const listSql = `
    select seq, id, body, lease_until from ${tasks}
    where owner = ? and parent_id is null and seq < ? and unpublished is null order by seq desc ${limited}`;
  // Counting stops at the limit.
  const counted = (from: string) => ({
    all: `select count(*) as n from (select 1 from ${from} ${limited}) as counted`,
    own: `select count(*) as n from (select 1 from ${from} and owner = ? ${limited}) as counted`,
  });
  const countSql = {
    stored: counted(`${tasks} ${by('tasks_by_owner')} where parent_id is null`),
    // Every finished root has a `purge_at`, so roots without it are live.
    live: counted(`${tasks} ${by('tasks_live')} where parent_id is null and purge_at is null`),
  };
  const commitsSql = `
    select version, events from ${prefix}commits
    where task = (select seq from ${tasks} where id = ?) and version > ? order by version ${limited}`;
  return {
    async childIds(id) {
      type Row = { readonly id: TaskId; readonly parent_id: string; readonly ordinal: number };
      const parent = name(id);
      const rows = await read(childrenSql, [parent], (row: Row) => row);
      expectIndex(rows.every(({ parent_id, ordinal }, index) => parent_id === parent && ordinal === index));
      return rows.map((row) => row.id);
    },
    async list({ owner, limit, cursor }) {
      const before = numberBefore(cursor);
      type Row = TaskRow<Text> & { readonly seq: number };
      // One more row than the page, to find out whether another page follows.
      const rows = await read(listSql, [name(owner), before, limit + 1], (row: Row) => row);
      expectIndex(rows.every(({ seq }, i) => seq < (rows[i - 1]?.seq ?? before)));
      const page = readableTasks(rows.slice(0, limit), (row) => taskOf(row, cells));
      expectIndex(page.tasks.every((task) => task.owner === owner));
      return rows.length > limit ? { ...page, nextCursor: String(rows[limit - 1]!.seq) } : page;
    },
    async count(owner, what, upTo) {
      // `upTo` may be Infinity, which no database accepts.
      const limit = Math.min(upTo, Number.MAX_SAFE_INTEGER);
      const { all, own } = countSql[what];
      const given = owner === undefined ? [limit] : [name(owner), limit];
      const [n] = await read(owner === undefined ? all : own, given, (row: { readonly n: number }) => row.n);
      return n!;
    },
    async commitsOf(id, afterVersion, limit) {
      type Row = { readonly version: number; readonly events: Text };
      return read(commitsSql, [name(id), afterVersion, limit], ({ version, events }: Row) =>
        readingTask(id, () => ({
          version,
          events: eventsIn(cells.read(events, 'commits.events', id, version)),
        })),
      );
    },
    due: (what, now, limit) => read(dueSql[what], [now, limit], (row: { readonly id: TaskId }) => row.id),
  };
}

/**
 * Throws unless the rows match the query. A corrupt index can return any row, and no caller may see the tasks of
 * another owner.
 */
export function expectIndex(isCorrect: boolean): void {
  if (!isCorrect) throw new Corrupt('an index points to the wrong tasks');
}
