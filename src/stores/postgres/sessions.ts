import type { Sessions } from '../../engine/sessions.ts';
import { named, name as stored } from './cells.ts';
import { prepared, wording } from './driver.ts';
import type { Connections } from './pool.ts';
import type { Vault } from './vault.ts';

const column = 'sessions.opening';

/** Sessions as rows. */
export function postgresSessions(
  connections: Connections,
  vault: Vault,
  { schema, place }: { readonly schema: string; readonly place: string },
): Sessions {
  const sql = prepared({
    saveSession: `
      insert into ${schema}.sessions (id, owner, opening, seen_at) values ($1, $2, $3, $4)
      on conflict (id) do update set opening = excluded.opening, seen_at = excluded.seen_at`,
    getSession: `select owner, opening, seen_at from ${schema}.sessions where id = $1`,
    deleteSession: `delete from ${schema}.sessions where id = $1`,
    forgetSessions: `delete from ${schema}.sessions where seen_at < $1`,
  });
  return {
    async save({ id, owner, opening, seenAt }) {
      await vault.transact(async (transaction) => {
        const text = vault.write(JSON.stringify(opening), column, id);
        await transaction.query(sql.saveSession, [stored(id), stored(owner), text, seenAt]);
      });
    },
    get: (id) =>
      wording(place, async () => {
        const [row] = await connections.query<{ owner: string; opening: string; seen_at: number }>(
          sql.getSession,
          [stored(id)],
        );
        if (!row) return undefined;
        const opening = JSON.parse(vault.read(row.opening, column, id));
        return { id, owner: named(row.owner), opening, seenAt: row.seen_at };
      }),
    async delete(id) {
      await connections.query(sql.deleteSession, [stored(id)]);
    },
    async forget(seenBefore) {
      await connections.query(sql.forgetSessions, [seenBefore]);
    },
  };
}
