/**
 * Encrypts values with AES-256-GCM, each with its own nonce. The location of a value (column and row) is authenticated
 * with it, so a value that was moved to another row or column fails to decrypt, like a modified one.
 *
 *   1 byte   the format, 1
 *   1 byte   the length of the key's id
 *   n bytes  the key's id
 *   12 bytes the nonce
 *   …        the text, encrypted
 *   16 bytes the tag
 *
 * The configured keys encrypt nothing themselves. The cipher key is derived from a configured key and the salt of the
 * database. So databases with the same configured key have different cipher keys, and a value copied from one database
 * to another cannot be decrypted.
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

/** This process does not have the key that encrypts a value. */
export class KeyMissing extends Error {
  readonly id: string;

  constructor(id: string) {
    super(`key ${id} is missing`);
    this.id = id;
  }
}

/** What is derived from one configured key. */
interface Derived {
  /** The cipher key. */
  readonly secret: KeyObject;
  /** The first bytes of each value with this key: format, length of the id, and id. */
  readonly header: Buffer;
}

/** Encrypts and decrypts with the keys of one process and the salt of one database. */
export class Cipher {
  readonly #keys: ReadonlyMap<string, Uint8Array>;
  readonly #salt: Uint8Array;
  readonly #derived = new Map<string, Derived>();
  /** The key of the value that was decrypted last. */
  #last: Derived | undefined;

  constructor(keys: ReadonlyMap<string, Uint8Array>, salt: Uint8Array) {
    this.#keys = keys;
    this.#salt = salt;
  }

  /** Encrypts a value with the key `id`. `place` is its location. Throws `KeyMissing`. */
  seal(id: string, value: string | Uint8Array, place: string): Uint8Array {
    const { secret, header } = this.#key(id);
    const nonce = nextNonce();
    const cipher = createCipheriv('aes-256-gcm', secret, nonce);
    cipher.setAAD(Buffer.from(place));
    const body = typeof value === 'string' ? cipher.update(value, 'utf8') : cipher.update(value);
    // Required before the tag can be read. In GCM mode it returns no more bytes.
    cipher.final();
    return Buffer.concat([header, nonce, body, cipher.getAuthTag()]);
  }

  /** Decrypts and verifies a value. Throws `Corrupt` if it was modified or moved, or `KeyMissing`. */
  open(sealed: Uint8Array, place: string): Buffer {
    const { secret, header } = this.#keyOf(sealed);
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    // The offset of the encrypted text.
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
      throw new Corrupt(`an encrypted value was modified, or moved to another place (${place})`);
    }
    return value;
  }

  /** Nearly all values of a database have the same key, so the last one is tried before the key id is parsed. */
  #keyOf(sealed: Uint8Array): Derived {
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

/** The id of the key that encrypts a value. Throws `Corrupt` if the header is not readable. */
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

/**
 * Generating random bytes costs as much as encrypting, so bytes for many nonces are generated at once. Each is used
 * once.
 */
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
