/**
 * Seals values that a peer carries for us and must neither read nor change. A sealed value is encrypted and
 * authenticated (AES-256-GCM). It can be opened only for the purpose it was sealed for, and until it expires. All
 * processes on the same store share the key.
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { idFrom } from '../model/id.ts';
import type { Json } from '../model/json.ts';
import { runtime } from '../runtime/runtime.ts';

const nonceBytes = 12;
const tagBytes = 16;

export class Sealer {
  readonly #key: Uint8Array;
  readonly #purpose: Buffer;

  constructor(key: Uint8Array, purpose: string) {
    this.#key = key;
    this.#purpose = Buffer.from(purpose);
  }

  /** `until`: when the sealed value expires, in milliseconds since 1970. */
  seal(value: Json, until: number): string {
    const nonce = runtime.randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    cipher.setAAD(this.#purpose);
    const body = Buffer.concat([cipher.update(JSON.stringify({ until, value })), cipher.final()]);
    return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url');
  }

  /** Returns the original value, or why it is rejected: `'forged'` also for another key or purpose. */
  open(sealed: string, now: number): { readonly value: Json } | { readonly problem: 'forged' | 'expired' } {
    const bytes = Buffer.from(sealed, 'base64url');
    // Encode again and compare: the decoder ignores characters outside its alphabet and unused bits of the last one.
    if (bytes.length < nonceBytes + tagBytes || bytes.toString('base64url') !== sealed)
      return { problem: 'forged' };
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, nonceBytes));
    decipher.setAAD(this.#purpose);
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const body = Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]);
      const { until, value } = JSON.parse(body.toString()) as { until: number; value: Json };
      return until < now ? { problem: 'expired' } : { value };
    } catch {
      return { problem: 'forged' };
    }
  }
}

/** An id derived from a text. Nobody can compute it without the secret of the database. */
export function keyedId(secret: Uint8Array, text: string): string {
  return idFrom(createHmac('sha256', secret).update(text).digest().subarray(0, 20));
}
