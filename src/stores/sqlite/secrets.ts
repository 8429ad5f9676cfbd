import type { Secrets } from '../../engine/queue.ts';
import { runtime } from '../../model/runtime.ts';
import { keyBytes } from '../values/keys.ts';
import { rememberedSecrets, secretColumn } from '../values/secrets.ts';
import type { Cells } from './cells.ts';
import type { Connection } from './driver.ts';
import type { GroupCommit } from './group-commit.ts';

export function sqliteSecrets(db: Connection, commands: GroupCommit, cells: Cells): Secrets {
  const insert = db.prepare('insert or ignore into secrets (name, value) values (?, ?)');
  const select = db.prepare('select value from secrets where name = ?');
  return rememberedSecrets((name) =>
    commands.submit(() => {
      insert.run(name, cells.writeBytes(runtime.randomBytes(keyBytes), secretColumn, name));
      return cells.readBytes((select.get(name) as { value: Uint8Array }).value, secretColumn, name);
    }),
  );
}
