import type { Calls, OpenCall } from '../../engine/calls.ts';
import { requestLength } from '../../model/task.ts';
import { named, name as stored } from './cells.ts';
import { prepared, type Statement } from './driver.ts';
import type { Connections } from './pool.ts';
import type { RowCache } from './row-cache.ts';

/** Whether a call came in a session: its id ends with a point and its request. */
const isInSession = `left(right(answering, ${requestLength + 1}), 1) = '.'`;
const request = `right(answering, ${requestLength})`;

/** Part of a migration. */
export const requestIndex = `create index tasks_by_request on tasks ((${request})) where ${isInSession};`;

export function postgresCalls(connections: Connections, cache: RowCache, schema: string): Calls {
  const sql = prepared({
    undelivered: `select id, answering from ${schema}.tasks where join_key = $1 order by seq`,
    ofRequest: `select id, answering from ${schema}.tasks where ${request} = $1 and ${isInSession} order by seq`,
    take: `
      update ${schema}.tasks set answering = $3
      where id = $1 and join_key is not null and (answering is not distinct from $2 or answering = $3) returning 1`,
    leave: `
      update ${schema}.tasks set answering = null
      where id = $1 and join_key is not null and (answering is null or answering = $2) returning 1`,
    delivered: `update ${schema}.tasks set join_key = null where id = $1`,
  });
  const nameOf = (process: string | null) => (process === null ? null : stored(process));
  const updated = async (id: string, statement: Statement, values: readonly unknown[]) => {
    const rows = await connections.query(statement, [...values]);
    // The cached row is not the stored one any more.
    cache.delete(id);
    return rows.length === 1;
  };
  const found = async (statement: Statement, value: string) => {
    const rows = await connections.query<{ id: string; answering: string | null }>(statement, [value]);
    return rows.map(({ id, answering }) => ({
      taskId: named(id),
      answering: answering === null ? null : named(answering),
    }));
  };
  return {
    undelivered: (key) => found(sql.undelivered, key),
    ofRequest: (one) => found(sql.ofRequest, one) as Promise<OpenCall[]>,
    take: (id, from, by) => updated(id, sql.take, [stored(id), nameOf(from), stored(by)]),
    leave: (id, by) => updated(id, sql.leave, [stored(id), stored(by)]),
    async delivered(id) {
      await connections.query(sql.delivered, [stored(id)]);
      cache.delete(id);
    },
  };
}
