/**
 * The encryption record of a store. Every process encrypts new values with the newest key of the record; a process
 * without that key cannot open the store or write to it. Keys that may still encrypt older values must also be
 * configured, until `rekey` finds no such value and retires the key.
 */

import { newId } from '../../../model/id.ts';
import { StoreError } from '../../../ports/store-errors.ts';
import { runtime } from '../../../runtime/runtime.ts';
import { Corrupt } from '../corrupt.ts';
import { Cipher } from './cipher.ts';
import type { Keys } from './keys.ts';

export interface EncryptionRecord {
  /** A random id that changes with the record. Before a write, a process compares it to detect a newer record. */
  readonly revision: string;
  /** Random bytes in base64, from which cipher keys are derived; generated once. */
  readonly salt: string;
  /** The key for new values; null if they are plain text. */
  readonly newest: string | null;
  /** The keys that may encrypt values. `proof` is the id encrypted with the key: only the right key decrypts it. */
  readonly keys: readonly { readonly id: string; readonly proof: string }[];
  /** The ids of keys that no longer encrypt any value. */
  readonly retired: readonly string[];
  /** Whether values may be plain text. */
  readonly isMixed: boolean;
}

/** The record of a store that was never encrypted. */
export const notEncrypted: EncryptionRecord = {
  revision: '',
  salt: '',
  newest: null,
  keys: [],
  retired: [],
  isMixed: true,
};

/** Parses a stored record, or throws `Corrupt`. The text is null if the store was never encrypted. */
export function readRecord(text: unknown): EncryptionRecord {
  if (text === null) return notEncrypted;
  try {
    const record: Partial<EncryptionRecord> = JSON.parse(text as string);
    const isKey = ({ id, proof }: Partial<EncryptionRecord['keys'][number]>) =>
      typeof id === 'string' && typeof proof === 'string';
    if (record.keys?.every(isKey) && record.retired && record.revision) return record as EncryptionRecord;
  } catch {
    // Handled like a record with missing fields.
  }
  throw new Corrupt('its encryption record cannot be read');
}

/**
 * Checks the keys against the record and returns the cipher. Throws if a key of the record is missing or wrong. Returns
 * undefined if the store has no keys and this process has none either. `place` is the store, for messages.
 */
export function unlock(record: EncryptionRecord, keys: Keys | undefined, place: string): Cipher | undefined {
  if (!keys) {
    if (record.keys.length === 0) return undefined;
    throw new StoreError(
      'STORE_NOT_UNLOCKED',
      place,
      `it is encrypted (with ${record.keys.map(({ id }) => id).join(', ')})`,
      'Pass the keys to this process with the option `encryption`; nothing was changed.',
    );
  }
  const cipher = cipherOf(record, keys);
  for (const { id, proof } of record.keys) {
    if (!keys.byId.has(id))
      throw new StoreError(
        'STORE_NOT_UNLOCKED',
        place,
        id === record.newest
          ? `key ${id} is missing: new values are encrypted with it`
          : `key ${id} is missing: values may still be encrypted with it`,
        id === record.newest
          ? 'Add it to the keys of this process and restart it; nothing was changed.'
          : 'Keep it among the keys until `holdfast store rekey` reports that it encrypts no values; nothing was changed.',
      );
    if (!isProven(id, Buffer.from(proof, 'base64'), cipher, proofPlace(record)))
      throw new StoreError(
        'STORE_NOT_UNLOCKED',
        place,
        `key ${id} is wrong: the store is encrypted with another key of the same id`,
        'Configure the right key under this id, and a new key under a new id; nothing was changed.',
      );
  }
  return cipher;
}

/**
 * The record after a process with these keys has opened the store; undefined if it does not change. A current key that
 * is new to the store becomes the newest one. An older current key changes nothing, unless encryption is off: then it
 * becomes the newest one again. `isUnused` is true if the store has no values, so that none can be plain text.
 */
export function introduced(
  record: EncryptionRecord,
  keys: Keys,
  isUnused: boolean,
): EncryptionRecord | undefined {
  const { current } = keys;
  if (current === record.newest) return undefined;
  if (current === null) return changed({ ...record, newest: null, isMixed: true }, keys);
  const isKnown = record.retired.includes(current) || record.keys.some(({ id }) => id === current);
  if (isKnown && record.newest !== null) return undefined;
  return changed(
    {
      ...record,
      salt: record.salt || runtime.randomBytes(16).toString('base64'),
      newest: current,
      keys: [...record.keys.filter(({ id }) => id !== current), { id: current, proof: '' }],
      retired: record.retired.filter((id) => id !== current),
      isMixed: record.isMixed && !isUnused,
    },
    keys,
  );
}

/** The record after `rekey` counted all values by key (null for plain text); undefined if it does not change. */
export function settled(
  record: EncryptionRecord,
  keys: Keys,
  counts: ReadonlyMap<string | null, number>,
): EncryptionRecord | undefined {
  const isUsed = ({ id }: { id: string }) => id === record.newest || counts.has(id);
  const isMixed = record.newest === null || (record.isMixed && counts.has(null));
  const unused = record.keys.filter((key) => !isUsed(key)).map(({ id }) => id);
  if (unused.length === 0 && isMixed === record.isMixed) return undefined;
  return changed(
    { ...record, isMixed, keys: record.keys.filter(isUsed), retired: [...record.retired, ...unused] },
    keys,
  );
}

/** The record with a new revision and new proofs, which any change of `newest` or `isMixed` invalidates. */
function changed(record: EncryptionRecord, keys: Keys): EncryptionRecord {
  const cipher = cipherOf(record, keys);
  const proofOf = (id: string) => Buffer.from(cipher.seal(id, id, proofPlace(record))).toString('base64');
  return { ...record, revision: newId(), keys: record.keys.map(({ id }) => ({ id, proof: proofOf(id) })) };
}

function cipherOf({ salt }: EncryptionRecord, keys: Keys): Cipher {
  return new Cipher(keys.byId, Buffer.from(salt, 'base64'));
}

/**
 * The location of a proof. It contains `newest` and `isMixed`, so that nobody without a key can change them in order to
 * make processes accept or write plain text.
 */
function proofPlace({ newest, isMixed }: EncryptionRecord): string {
  return `encryption.proof/${JSON.stringify([newest, isMixed])}`;
}

function isProven(id: string, proof: Uint8Array, cipher: Cipher, place: string): boolean {
  try {
    return cipher.open(proof, place).toString() === id;
  } catch (error) {
    if (error instanceof Corrupt) return false;
    throw error;
  }
}
