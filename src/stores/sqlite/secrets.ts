import type { Secrets } from '../../engine/queue.ts';
import { runtime } from '../../model/runtime.ts';
import { keyBytes } from '../values/keys.ts';
import type { Cells } from './cells.ts';
import type { Connection } from './driver.ts';
import type { GroupCommit } from './group-commit.ts';

const column = 'secrets.value';

/** Keys as rows. The first to ask makes one; a race ends with the same key for all. */
export function sqliteSecrets(db: Connection, commands: GroupCommit, cells: Cells): Secrets {
  const insert = db.prepare('insert or ignore into secrets (name, value) values (?, ?)');
  const select = db.prepare('select value from secrets where name = ?');
  const known = new Map<string, Promise<Uint8Array>>();
  const read = (name: string) =>
    commands.submit(() => {
      insert.run(name, cells.writeBytes(runtime.randomBytes(keyBytes), column, name));
      return cells.readBytes((select.get(name) as { value: Uint8Array }).value, column, name);
    });
  return {
    async get(name) {
      const secret = known.get(name) ?? read(name);
      known.set(name, secret);
      secret.catch(() => known.delete(name));
      return secret;
    },
  };
}
