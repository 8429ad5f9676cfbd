import type { Secrets } from '../../engine/queue.ts';
import { runtime } from '../../model/runtime.ts';
import { name as stored } from './cells.ts';
import type { Vault } from './vault.ts';

const column = 'secrets.value';
const keyBytes = 32;

/** Keys as rows. The first to ask makes one; a race ends with the same key for all. */
export function postgresSecrets(vault: Vault, schema: string): Secrets {
  const known = new Map<string, Promise<Uint8Array>>();
  const read = (name: string) =>
    vault.transact(async (transaction) => {
      await transaction.query(
        `insert into ${schema}.secrets (name, value) values ($1, $2) on conflict do nothing`,
        [stored(name), vault.writeBytes(runtime.randomBytes(keyBytes), column, name)],
      );
      const [row] = await transaction.query<{ value: Buffer }>(
        `select value from ${schema}.secrets where name = $1`,
        [stored(name)],
      );
      return new Uint8Array(vault.readBytes(row!.value, column, name));
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
