/** The keys that encrypt stored values, by id. */
import { StoreError } from '../../../ports/store-errors.ts';
export interface Encryption {
  /** Each key is 32 bytes: raw, base64 or hex. All keys that still encrypt values of the store are required. */
  readonly keys: Readonly<Record<string, Uint8Array | string>>;
  /**
   * The id of the key for new values. If it is new to the store, all processes encrypt new values with it from then on.
   * Null turns encryption off: new values are plain text. Values written before that stay as they are until `rekey()`.
   */
  readonly current: string | null;
}

/** Validated keys. */
export interface Keys {
  readonly byId: ReadonlyMap<string, Uint8Array>;
  /** The id of the key for new values; null turns encryption off. */
  readonly current: string | null;
}

/** The length of keys and of stored secrets, in bytes. */
export const keyBytes = 32;

/** Ids are stored in every value and appear in messages. */
const keyId = /^[A-Za-z0-9._:-]{1,64}$/;

/** Validates the keys. Error messages never contain a key. */
export function readKeys({ keys, current }: Encryption, place: string): Keys {
  const byId = new Map<string, Uint8Array>();
  for (const [id, key] of Object.entries(keys ?? {})) {
    if (!keyId.test(id))
      throw refused(
        place,
        `${JSON.stringify(id)} is not a valid key id`,
        'Use 1 to 64 characters of A-Z a-z 0-9 . _ : -',
      );
    // Usually caused by an environment variable that is not set.
    if (key === undefined || key === '')
      throw refused(place, `key ${id} is empty`, 'Check the environment variable or file that contains it');
    const bytes = bytesOf(key);
    if (bytes?.byteLength !== keyBytes)
      throw refused(
        place,
        `key ${id} is not ${keyBytes} bytes`,
        `Use ${keyBytes} random bytes, raw, in base64 or in hex (for example from "openssl rand -base64 32")`,
      );
    byId.set(id, bytes);
  }
  if (current === undefined || (current !== null && !byId.has(current)))
    throw refused(
      place,
      `the current key ${current} is not among the keys (${[...byId.keys()].join(', ') || 'none'})`,
      'Set `current` to one of them, or to null to turn encryption off',
    );
  return { byId, current };
}

/** Decodes a key. Returns undefined if it is a text in neither format; the length of raw bytes is not checked. */
function bytesOf(key: unknown): Uint8Array | undefined {
  if (key instanceof Uint8Array) return Uint8Array.from(key);
  if (typeof key !== 'string') return undefined;
  if (/^[0-9a-f]{64}$/i.test(key)) return Buffer.from(key, 'hex');
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(key) ? Buffer.from(key, 'base64') : undefined;
}

function refused(place: string, problem: string, remedy: string): StoreError {
  return new StoreError('STORE_NOT_UNLOCKED', place, problem, `${remedy}.`);
}
