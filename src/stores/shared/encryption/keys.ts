import { StoreError } from '../../../ports/store-errors.ts';
/** The keys that a caller gives for values at rest, by their ids. */

export interface Encryption {
  /** Each 32 bytes: as bytes, in base64 or in hex. All keys that the store is still encrypted with must be there. */
  readonly keys: Readonly<Record<string, Uint8Array | string>>;
  /**
   * The id of the newest key. If the store does not know it, all processes encrypt new values with it from then on.
   * Null switches encryption off: new values are plain text. `rekey()` rewrites old values.
   */
  readonly current: string | null;
}

export interface Keys {
  readonly byId: ReadonlyMap<string, Uint8Array>;
  readonly current: string | null;
}

export const keyBytes = 32;

/** Ids are stored in every value, and named in messages. */
const keyId = /^[A-Za-z0-9._:-]{1,64}$/;

/** Refuses what cannot be meant, and never repeats a key in its message. */
export function readKeys({ keys, current }: Encryption, place: string): Keys {
  const byId = new Map<string, Uint8Array>();
  for (const [id, key] of Object.entries(keys ?? {})) {
    if (!keyId.test(id))
      throw refused(place, `${JSON.stringify(id)} is no id of a key`, 'Use 1 to 64 of A-Z a-z 0-9 . _ : -');
    // As a rule an environment variable that is not set.
    if (key === undefined || key === '')
      throw refused(
        place,
        `key ${id} was not given`,
        'Set what it is read from, such as an environment variable',
      );
    const bytes = bytesOf(key);
    if (bytes?.byteLength !== keyBytes)
      throw refused(
        place,
        `key ${id} is not ${keyBytes} bytes`,
        `Give ${keyBytes} random bytes, as they are, in base64 or in hex ("openssl rand -base64 32" makes some)`,
      );
    byId.set(id, bytes);
  }
  if (current === undefined || (current !== null && !byId.has(current)))
    throw refused(
      place,
      `the current key is ${current}, and is not among the keys (${[...byId.keys()].join(', ') || 'none'})`,
      'Name one of them, or null to switch encryption off',
    );
  return { byId, current };
}

function bytesOf(key: unknown): Uint8Array | undefined {
  if (key instanceof Uint8Array) return Uint8Array.from(key);
  if (typeof key !== 'string') return undefined;
  if (/^[0-9a-f]{64}$/i.test(key)) return Buffer.from(key, 'hex');
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(key) ? Buffer.from(key, 'base64') : undefined;
}

function refused(place: string, problem: string, remedy: string): StoreError {
  return new StoreError('STORE_NOT_UNLOCKED', place, problem, `${remedy}.`);
}
