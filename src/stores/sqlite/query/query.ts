/**
 * The `TaskQueries` on SQLite. Statements on a file run in a thread with its own connection. A database in memory can
 * have only one connection, so its statements run on the main thread. So do those on a file if no thread can be
 * started.
 */

import type { TaskQueries } from '../../../ports/query.ts';
import { storeClosed } from '../../../ports/store-errors.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { runtime } from '../../../runtime/runtime.ts';
import { guarded, type QuerySource, SqlTaskQueries } from '../../shared/query/query.ts';
import type { Sql } from '../../shared/query/sql.ts';
import { type Connection, toStoreError } from '../driver.ts';
import type { Cells, Stored } from '../encryption/cells.ts';
import { SqlThread, ThreadNotStarted } from './sql-thread.ts';

/**
 * How long a statement in the thread waits for locks, in milliseconds. Longer than on the main connection, because
 * waiting in the thread does not block the event loop.
 */
const timeout = 2_000;
/** The thread ends after this time without queries. */
const idleMs = 30_000;

interface Parts {
  readonly db: Connection;
  /** Undefined in memory. */
  readonly file: string | undefined;
  readonly cells: Cells;
  readonly clock: Clock;
  /** The path or `memory:`, for messages. */
  readonly place: string;
}

export function sqliteQueries({
  db,
  file,
  cells,
  clock,
  place,
}: Parts): TaskQueries & { close(): Promise<void> } {
  let thread = file === undefined ? undefined : new SqlThread(file, { timeout, readOnly: true, idleMs });
  let isClosed = false;
  /** Returns undefined if there is no thread or it could not be started: run the statement on the main thread. */
  const inThread = async (sql: Sql): Promise<unknown[] | undefined> => {
    try {
      return await thread?.all(sql.text, sql.values);
    } catch (error) {
      if (isClosed || !(error instanceof ThreadNotStarted)) throw error;
      // Statements that fail together cause only one warning.
      if (thread)
        process.emitWarning(
          `Queries of ${place} run on the main thread and block it: no thread could be started (${error.message}).`,
        );
      thread = undefined;
      return undefined;
    }
  };
  const all = async <Row>(sql: Sql): Promise<Row[]> => {
    let rows = await inThread(sql);
    if (!rows) {
      // Lets other work run between the statements of a query.
      await new Promise((resolve) => runtime.setImmediate(resolve));
      if (!isClosed) rows = db.prepare(sql.text).all(...sql.values);
    }
    if (isClosed) throw storeClosed(place);
    return rows as Row[];
  };
  const guard = async <T>(read: () => Promise<T>): Promise<T> => {
    try {
      if (isClosed) throw storeClosed(place);
      return await read();
    } catch (error) {
      throw toStoreError(isClosed ? storeClosed(place) : error, place);
    }
  };
  return {
    ...guarded(new SqlTaskQueries(sqliteSource(cells, all), { clock }), guard),
    async close() {
      isClosed = true;
      await thread?.end();
    },
  };
}

/** What the shared queries need to know about SQLite. `all` runs one read-only statement. */
export function sqliteSource(cells: Cells, all: QuerySource<Stored>['all']): QuerySource<Stored> {
  return {
    tasks: 'tasks',
    commits: 'commits',
    by: (index) => `indexed by ${index}`,
    isAsleep: 'ready is null',
    read: (stored, column, id, version) => cells.read(stored, column, id, version),
    all,
  };
}
