import type { TaskId } from '../../model/task.ts';
import type { Calls } from '../../ports/calls.ts';
import type { Tables, Value } from './tables.ts';

/** SQL expressions on `answering`, the call that a task answers: its request id, and whether it came in a session. */
export interface RequestSql {
  readonly requestId: string;
  readonly isInSession: string;
}

/** `Calls` on rows of tasks. Its methods call `onChanged` after an update of a row, even if no row matched. */
export function storedCalls<Text extends Value>(
  tables: Tables<Text>,
  { requestId: request, isInSession }: RequestSql,
  onChanged: (id: TaskId) => void = () => {},
): Calls {
  const { name } = tables;
  const tasks = `${tables.prefix}tasks`;
  const found = <A extends string | null>(condition: string, value: string) =>
    tables.read(
      `select id, answering from ${tasks} where ${condition} order by seq`,
      [value],
      ({ id, answering }: { readonly id: TaskId; readonly answering: A }) => ({ taskId: id, answering }),
    );
  // Returns whether a row matched.
  const updated = async (id: TaskId, update: string, values: readonly Value[]) => {
    const rows = await tables.write(`update ${tasks} set ${update} returning seq`, values);
    onChanged(id);
    return rows.length === 1;
  };
  // The last condition makes it safe to repeat: the task may already answer the new call.
  const take = `answering = ?
    where id = ? and join_key is not null and (answering is not distinct from ? or answering = ?)`;
  const leave = `answering = null
    where id = ? and join_key is not null and (answering is null or answering = ?)`;
  return {
    undelivered: (key) => found<string | null>('join_key = ?', key),
    ofRequest: (one) => found<string>(`${request} = ? and ${isInSession}`, one),
    take: (id, from, by) =>
      updated(id, take, [name(by), name(id), from === null ? null : name(from), name(by)]),
    leave: (id, by) => updated(id, leave, [name(id), name(by)]),
    async delivered(id) {
      await updated(id, 'join_key = null where id = ?', [name(id)]);
    },
  };
}
