import type { SessionRecord, Sessions } from '../../ports/sessions.ts';
import type { Tables, Value } from './tables.ts';

const column = 'sessions.opening';

/** `Sessions` as rows. `opening` may be encrypted. */
export function storedSessions<Text extends Value>(tables: Tables<Text>): Sessions {
  const { cells, name } = tables;
  const sessions = `${tables.prefix}sessions`;
  // The owner of a session never changes, so an update omits it.
  const upsert = `
    insert into ${sessions} (id, owner, opening, seen_at) values (?, ?, ?, ?)
    on conflict (id) do update set opening = excluded.opening, seen_at = excluded.seen_at`;
  const select = `select owner, opening, seen_at from ${sessions} where id = ?`;
  return {
    async save({ id, owner, opening, seenAt }) {
      const text = JSON.stringify(opening);
      await tables.writeCells(upsert, () => [[name(id), name(owner), cells.write(text, column, id), seenAt]]);
    },
    async get(id) {
      type Row = { readonly owner: string; readonly opening: Text; readonly seen_at: number };
      const [session] = await tables.read(select, [name(id)], (row: Row): SessionRecord => {
        const opening = JSON.parse(cells.read(row.opening, column, id));
        return { id, owner: row.owner, opening, seenAt: row.seen_at };
      });
      return session;
    },
    async delete(id) {
      await tables.write(`delete from ${sessions} where id = ?`, [name(id)]);
    },
    async forget(seenBefore) {
      await tables.write(`delete from ${sessions} where seen_at < ?`, [seenBefore]);
    },
  };
}
