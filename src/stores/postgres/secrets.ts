import { randomBytes } from 'node:crypto';
import type { Secrets } from '../../engine/queue.ts';
import { type Cells, name as stored } from './cells.ts';
import type { Connections } from './pool.ts';

const column = 'secrets.value';
const keyBytes = 32;

/** Keys as rows. The first to ask makes one; a race ends with the same key for all. */
export function postgresSecrets(connections: Connections, cells: Cells, schema: string): Secrets {
  const known = new Map<string, Promise<Uint8Array>>();
  const read = async (name: string) => {
    await connections.query(
      `insert into ${schema}.secrets (name, value) values ($1, $2) on conflict do nothing`,
      [stored(name), cells.writeBytes(randomBytes(keyBytes), column, name)],
    );
    const [row] = await connections.query<{ value: Buffer }>(
      `select value from ${schema}.secrets where name = $1`,
      [stored(name)],
    );
    return new Uint8Array(cells.readBytes(row!.value, column, name));
  };
  return {
    async get(name) {
      const secret = known.get(name) ?? read(name);
      known.set(name, secret);
      secret.catch(() => known.delete(name));
      return secret;
    },
  };
}
