import type { Secrets } from '../../engine/queue.ts';
import { runtime } from '../../model/runtime.ts';
import { keyBytes } from '../values/keys.ts';
import { rememberedSecrets, secretColumn } from '../values/secrets.ts';
import { name as stored } from './cells.ts';
import type { Vault } from './vault.ts';

export function postgresSecrets(vault: Vault, schema: string): Secrets {
  return rememberedSecrets((name) =>
    vault.transact(async (transaction) => {
      await transaction.query(
        `insert into ${schema}.secrets (name, value) values ($1, $2) on conflict do nothing`,
        [stored(name), vault.writeBytes(runtime.randomBytes(keyBytes), secretColumn, name)],
      );
      const [row] = await transaction.query<{ value: Buffer }>(
        `select value from ${schema}.secrets where name = $1`,
        [stored(name)],
      );
      return new Uint8Array(vault.readBytes(row!.value, secretColumn, name));
    }),
  );
}
