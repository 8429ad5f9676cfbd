import type { Sessions } from '../../engine/sessions.ts';
import type { Cells, Stored } from './cells.ts';
import { type Connection, wording } from './driver.ts';
import type { GroupCommit } from './group-commit.ts';

const column = 'sessions.opening';

/** Sessions as rows. */
export function sqliteSessions(db: Connection, commands: GroupCommit, cells: Cells, file: string): Sessions {
  const upsert = db.prepare(`
    insert into sessions (id, owner, opening, seen_at) values (?, ?, ?, ?)
    on conflict (id) do update set opening = excluded.opening, seen_at = excluded.seen_at`);
  const select = db.prepare('select owner, opening, seen_at from sessions where id = ?');
  const remove = db.prepare('delete from sessions where id = ?');
  const forget = db.prepare('delete from sessions where seen_at < ?');
  return {
    save: ({ id, owner, opening, seenAt }) =>
      commands.submit(() => {
        upsert.run(id, owner, cells.write(JSON.stringify(opening), column, id), seenAt);
      }),
    get: (id) =>
      wording(file, () => {
        const row = select.get(id) as { owner: string; opening: Stored; seen_at: number } | undefined;
        if (!row) return undefined;
        const opening = JSON.parse(cells.read(row.opening, column, id));
        return { id, owner: row.owner, opening, seenAt: row.seen_at };
      }),
    delete: (id) => commands.submit(() => void remove.run(id)),
    forget: (seenBefore) => commands.submit(() => void forget.run(seenBefore)),
  };
}
