/**
 * Values under keys: AES-256-GCM, each with a nonce of its own. What is authenticated besides the value is where it
 * stands, so that a value which was moved to another row or column is as unreadable as one that was changed.
 *
 *   1 byte   the format, 1
 *   1 byte   the length of the key's id
 *   n bytes  the key's id
 *   12 bytes the nonce
 *   …        the text, encrypted
 *   16 bytes the tag
 *
 * The keys themselves encrypt nothing: what does is derived from a key and the database's salt, so that databases which
 * share a key share neither nonces nor values.
 */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomFillSync,
} from 'node:crypto';
import { Corrupt } from '../corrupt.ts';

const format = 1;
const nonceBytes = 12;
const tagBytes = 16;

/** The key that a value names was not given. */
export class KeyMissing extends Error {
  readonly id: string;

  constructor(id: string) {
    super(`key ${id} is missing`);
    this.id = id;
  }
}

interface Derived {
  readonly secret: KeyObject;
  readonly header: Buffer;
}

export class Cipher {
  readonly #keys: ReadonlyMap<string, Uint8Array>;
  readonly #salt: Uint8Array;
  readonly #derived = new Map<string, Derived>();
  #last: Derived | undefined;

  constructor(keys: ReadonlyMap<string, Uint8Array>, salt: Uint8Array) {
    this.#keys = keys;
    this.#salt = salt;
  }

  seal(id: string, value: string | Uint8Array, place: string): Uint8Array {
    const { secret, header } = this.#key(id);
    const nonce = nextNonce();
    const cipher = createCipheriv('aes-256-gcm', secret, nonce);
    cipher.setAAD(Buffer.from(place));
    const body = typeof value === 'string' ? cipher.update(value, 'utf8') : cipher.update(value);
    // GCM keeps nothing back: there is no last block.
    cipher.final();
    return Buffer.concat([header, nonce, body, cipher.getAuthTag()]);
  }

  /** What was sealed, as it was; anything else is damage. */
  open(sealed: Uint8Array, place: string): Buffer {
    const { secret, header } = this.#keyUnder(sealed);
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    const text = header.length + nonceBytes;
    if (bytes.length < text + tagBytes) throw new Corrupt(`an encrypted value is cut short (${place})`);
    const decipher = createDecipheriv('aes-256-gcm', secret, bytes.subarray(header.length, text), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(Buffer.from(place));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    const value = decipher.update(bytes.subarray(text, -tagBytes));
    try {
      decipher.final();
    } catch {
      throw new Corrupt(`an encrypted value was changed, or stands where it does not belong (${place})`);
    }
    return value;
  }

  /** Nearly all values of a database stand under one key, so that the last is tried before any name is read. */
  #keyUnder(sealed: Uint8Array): Derived {
    if (!this.#last || !startsWith(sealed, this.#last.header)) this.#last = this.#key(keyIdOf(sealed));
    return this.#last;
  }

  #key(id: string): Derived {
    const known = this.#derived.get(id);
    if (known) return known;
    const key = this.#keys.get(id);
    if (!key) throw new KeyMissing(id);
    const secret = createSecretKey(
      new Uint8Array(hkdfSync('sha256', key, this.#salt, 'holdfast values', 32)),
    );
    const derived = { secret, header: Buffer.from([format, id.length, ...Buffer.from(id, 'latin1')]) };
    this.#derived.set(id, derived);
    return derived;
  }
}

/** The id of the key under which a value stands. */
export function keyIdOf(sealed: Uint8Array): string {
  const length = sealed[1] ?? 0;
  if (sealed[0] !== format || length === 0 || sealed.length < 2 + length)
    throw new Corrupt('an encrypted value is not readable');
  return String.fromCharCode(...sealed.subarray(2, 2 + length));
}

function startsWith(bytes: Uint8Array, header: Uint8Array): boolean {
  for (let i = 0; i < header.length; i++) if (bytes[i] !== header[i]) return false;
  return true;
}

/** Asking for random bytes costs as much as encrypting: they are fetched for many nonces at once, each used once. */
const pool = Buffer.alloc(nonceBytes * 256);
let used = pool.length;

function nextNonce(): Buffer {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += nonceBytes;
  return Buffer.from(pool.subarray(used - nonceBytes, used));
}
