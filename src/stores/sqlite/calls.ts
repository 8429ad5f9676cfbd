import type { Calls } from '../../engine/calls.ts';
import { requestLength, type TaskId } from '../../model/task.ts';
import { type Connection, wording } from './driver.ts';
import type { GroupCommit } from './group-commit.ts';

/** Whether a call came in a session: its id ends with a point and its request. */
const isInSession = `substr(answering, ${-requestLength - 1}, 1) = '.'`;
const request = `substr(answering, ${-requestLength})`;

/** Part of a migration. */
export const requestIndex = `create index tasks_by_request on tasks (${request}) where ${isInSession};`;

export function sqliteCalls(db: Connection, commands: GroupCommit, file: string): Calls {
  const undelivered = db.prepare('select id, answering from tasks where join_key = ? order by seq');
  const ofRequest = db.prepare(
    `select id, answering from tasks where ${request} = ? and ${isInSession} order by seq`,
  );
  const take = db.prepare(`
    update tasks set answering = ? where id = ? and join_key is not null and (answering is ? or answering = ?)`);
  const leave = db.prepare(`
    update tasks set answering = null where id = ? and join_key is not null and (answering is null or answering = ?)`);
  const delivered = db.prepare('update tasks set join_key = null where id = ?');
  const found = <A extends string | null>(look: typeof undelivered, value: string) =>
    wording(file, () => {
      const rows = look.all(value) as { id: TaskId; answering: A }[];
      return rows.map(({ id, answering }) => ({ taskId: id, answering }));
    });
  return {
    undelivered: (key) => found<string | null>(undelivered, key),
    ofRequest: (one) => found<string>(ofRequest, one),
    delivered: (id) => commands.submit(() => void delivered.run(id)),
    take: (id, from, by) => commands.submit(() => take.run(by, id, from, by).changes === 1),
    leave: (id, by) => commands.submit(() => leave.run(id, by).changes === 1),
  };
}
