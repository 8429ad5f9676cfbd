/** Names for tasks and values: random ids, and digests that do not depend on the order of keys. */

import type { Json } from './json.ts';
import { runtime } from './runtime.ts';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

const idBytes = 20;

/** An identifier of 160 random bits. For anonymous callers it is the only key to a task, so nobody may guess it. */
export function newId(): string {
  return idFrom(runtime.randomBytes(idBytes));
}

/** Bytes in base 32. An id must never start with `-`, because people paste ids into terminals. */
export function idFrom(bytes: Uint8Array): string {
  let id = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      id += alphabet[(held >> bits) & 31];
    }
    held &= (1 << bits) - 1;
  }
  return id;
}

/** A fingerprint of a value that does not depend on the order of its keys. */
export async function digestOf(value: Json): Promise<string> {
  const bytes = new TextEncoder().encode(canonical(value));
  return Buffer.from(await runtime.sha256(bytes)).toString('base64url');
}

/** JSON that does not depend on the order of keys. */
export function canonical(value: Json): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, part]) => [key, sorted(part)]),
  );
}
