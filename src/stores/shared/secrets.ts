import type { Secrets } from '../../ports/queue.ts';
import { runtime } from '../../runtime/runtime.ts';
import { keyBytes } from './encryption/keys.ts';
import type { Tables, Value } from './tables.ts';

/** The location of secrets that is authenticated with them. */
export const secretColumn = 'secrets.value';

/** `Secrets` as rows. The first reader of a secret creates it; concurrent readers all get the same one. */
export function storedSecrets<Text extends Value>(tables: Tables<Text>): Secrets {
  const { cells, prefix } = tables;
  const insert = `insert into ${prefix}secrets (name, value) values (?, ?) on conflict do nothing`;
  const select = `select value from ${prefix}secrets where name = ?`;
  // Secrets that were read, or are being read.
  const known = new Map<string, Promise<Uint8Array>>();
  const read = async (name: string) => {
    const stored = tables.name(name);
    await tables.writeCells(insert, () => {
      const secret = runtime.randomBytes(keyBytes);
      return [[stored, cells.writeBytes(secret, secretColumn, name)]];
    });
    const [secret] = await tables.read(select, [stored], ({ value }: { readonly value: Uint8Array }) =>
      cells.readBytes(value, secretColumn, name),
    );
    return new Uint8Array(secret!);
  };
  return {
    async get(name) {
      const secret = known.get(name) ?? read(name);
      known.set(name, secret);
      // After an error, the next call reads again.
      secret.catch(() => known.delete(name));
      return secret;
    },
  };
}
