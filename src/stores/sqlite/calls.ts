import type { Calls } from '../../engine/calls.ts';
import { type Connection, worded } from './driver.ts';
import type { GroupCommit } from './group-commit.ts';

export function sqliteCalls(db: Connection, commands: GroupCommit, file: string): Calls {
  const undelivered = db.prepare('select id, answering from tasks where join_key = ? order by seq');
  const take = db.prepare(`
    update tasks set answering = ? where id = ? and join_key is not null and (answering is ? or answering = ?)`);
  const leave = db.prepare(`
    update tasks set answering = null where id = ? and join_key is not null and (answering is null or answering = ?)`);
  const delivered = db.prepare('update tasks set join_key = null where id = ?');
  return {
    async undelivered(key) {
      try {
        const rows = undelivered.all(key) as { id: string; answering: string | null }[];
        return rows.map(({ id, answering }) => ({ taskId: id, answering }));
      } catch (error) {
        throw worded(error, file);
      }
    },
    delivered: (id) => commands.submit(() => void delivered.run(id)),
    take: (id, from, by) => commands.submit(() => take.run(by, id, from, by).changes === 1),
    leave: (id, by) => commands.submit(() => leave.run(id, by).changes === 1),
  };
}
