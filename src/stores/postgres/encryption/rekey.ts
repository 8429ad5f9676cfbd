/** Re-encrypts the values of a Postgres database with the newest key. */
import { headerBytes, type RekeyReport, type RekeyTarget, rekey } from '../../shared/encryption/rekey.ts';
import type { Tables } from '../../shared/tables.ts';
import { withStoreErrors } from '../connections/driver.ts';
import type { Vault } from './vault.ts';

/** In characters: the prefix of an encrypted value (2, see `sealedMark`) and its header in base64. */
const headerLength = 2 + 4 * Math.ceil(headerBytes / 3);

export function rekeyPostgres(tables: Tables<string>, vault: Vault, place: string): Promise<RekeyReport> {
  const idOfTask = `(select id from ${tables.prefix}tasks t where t.seq = r.task) as id`;
  const sources: RekeyTarget<string>['sources'] = {
    tasks: { keys: ['seq'], bound: 'id, idempotency_key as key' },
    commits: { keys: ['task', 'version'], bound: idOfTask },
    results: { keys: ['task'], bound: idOfTask },
    sessions: { keys: ['seq'], bound: 'id' },
    secrets: { keys: ['seq'], bound: 'name as id' },
    audit: { keys: ['seq'], bound: 'at, action, owner, task' },
  };
  const change = vault.change.bind(vault);
  return withStoreErrors(place, () => rekey({ tables, sources, headerLength, change }));
}
