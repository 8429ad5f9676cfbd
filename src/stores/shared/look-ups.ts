/** The look-ups of a store: those that the rows of a database answer, and those that one statement answers in any. */

import type { TaskId } from '../../model/task.ts';
import type { Due, Store } from '../../ports/store.ts';
import { Corrupt, readingTask, soundOnly } from './corrupt.ts';
import { numberBefore } from './query/cursor.ts';
import type { Tables, Value } from './tables.ts';
import { eventsIn, type TaskRow, taskOf } from './task-texts.ts';

type OfRows = 'get' | 'family' | 'asking' | 'journal';
type OfTables = 'childIds' | 'list' | 'count' | 'commitsOf' | 'due';

/** They answer at once or later. */
type Rows = {
  readonly [L in OfRows]: (
    ...given: Parameters<Store[L]>
  ) => ReturnType<Store[L]> | Awaited<ReturnType<Store[L]>>;
};

/** `look` refuses when the store is closed, and puts errors into words. */
export function lookUps<Text extends Value>(
  rows: Rows,
  tables: Tables<Text>,
  look: <T>(read: () => T | Promise<T>) => T | Promise<T>,
): Pick<Store, OfRows | OfTables> {
  const stored = inTables(tables);
  return {
    get: async (id, owner) => look(() => rows.get(id, owner)),
    family: async (id) => look(() => rows.family(id)),
    asking: async (rootId) => look(() => rows.asking(rootId)),
    journal: async (id) => look(() => rows.journal(id)),
    childIds: async (id) => look(() => stored.childIds(id)),
    list: async (query) => look(() => stored.list(query)),
    count: async (owner, what, upTo) => look(() => stored.count(owner, what, upTo)),
    commitsOf: async (id, afterVersion, limit) => look(() => stored.commitsOf(id, afterVersion, limit)),
    due: async (what, now, limit) => look(() => stored.due(what, now, limit)),
  };
}

function inTables<Text extends Value>(tables: Tables<Text>): Pick<Store, OfTables> {
  const { prefix, cells, name, by, read } = tables;
  const tasks = `${prefix}tasks`;
  // SQLite recompiles a statement with a bare `limit ?` each time the limit is bound.
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
  const counted = (from: string) => ({
    all: `select count(*) as n from (select 1 from ${from} ${limited}) as counted`,
    own: `select count(*) as n from (select 1 from ${from} and owner = ? ${limited}) as counted`,
  });
  const countSql = {
    stored: counted(`${tasks} ${by('tasks_by_owner')} where parent_id is null`),
    // Every root that is done has a moment when it goes.
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
      confirm(rows.every(({ parent_id, ordinal }, place) => parent_id === parent && ordinal === place));
      return rows.map((row) => row.id);
    },
    async list({ owner, limit, cursor }) {
      const before = numberBefore(cursor);
      type Row = TaskRow<Text> & { readonly seq: number };
      const rows = await read(listSql, [name(owner), before, limit + 1], (row: Row) => row);
      confirm(rows.every(({ seq }, i) => seq < (rows[i - 1]?.seq ?? before)));
      const page = soundOnly(rows.slice(0, limit), (row) => taskOf(row, cells));
      confirm(page.tasks.every((task) => task.owner === owner));
      return rows.length > limit ? { ...page, nextCursor: String(rows[limit - 1]!.seq) } : page;
    },
    async count(owner, what, upTo) {
      // Without a limit there is nothing that a database would call a number.
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

/** An index of which a page was overwritten with another may lead anywhere; nobody may be shown the tasks of others. */
export function confirm(isWhatWasAskedFor: boolean): void {
  if (!isWhatWasAskedFor) throw new Corrupt('an index leads to the wrong tasks');
}
