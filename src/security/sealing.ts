/**
 * Seals what is handed to a peer and must come back unread and unchanged: encrypted and authenticated (AES-256-GCM),
 * for one purpose, until a moment, under a key that all processes on the same store share.
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

  seal(value: Json, until: number): string {
    const nonce = runtime.randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    cipher.setAAD(this.#purpose);
    const body = Buffer.concat([cipher.update(JSON.stringify({ until, value })), cipher.final()]);
    return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url');
  }

  /** What was sealed, or why it cannot be had. */
  open(sealed: string, now: number): { readonly value: Json } | { readonly problem: 'forged' | 'expired' } {
    const bytes = Buffer.from(sealed, 'base64url');
    // The decoder passes over what is not of its alphabet, and over bits of the last character that it does not need.
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

/** An id that follows from a text, and that nobody can compute without the secret of the database. */
export function keyedId(secret: Uint8Array, text: string): string {
  return idFrom(createHmac('sha256', secret).update(text).digest().subarray(0, 20));
}
