import { randomBytes } from 'node:crypto';
import type { Secrets } from '../../engine/queue.ts';
import type { Connection } from './driver.ts';
import type { GroupCommit } from './group-commit.ts';

/** Keys as rows. The first to ask makes one; a race ends with the same key for all. */
export function sqliteSecrets(db: Connection, commands: GroupCommit): Secrets {
  const insert = db.prepare('insert or ignore into secrets (name, value) values (?, ?)');
  const select = db.prepare('select value from secrets where name = ?');
  const known = new Map<string, Promise<Uint8Array>>();
  const read = (name: string) =>
    commands.submit(() => {
      insert.run(name, randomBytes(32));
      return (select.get(name) as { value: Uint8Array }).value;
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
