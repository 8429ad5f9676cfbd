/** Random ids, and digests of values that do not depend on the order of keys. */

import { runtime } from '../runtime/runtime.ts';
import type { Json } from './json.ts';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

const idBytes = 20;

/** An id of 160 random bits. */
export function newId(): string {
  return idFrom(runtime.randomBytes(idBytes));
}

/** The characters of an id in the order in which databases sort them. */
const ordered = [...alphabet].sort();

/**
 * The id of a task. For anonymous callers it is the only key to the task, so it has 145 random bits. The first three
 * characters count units of 32 ms (and start again after 17 minutes), so that tasks created together share pages of the
 * database index.
 */
export function newTaskId(): string {
  const unit = Math.floor(runtime.now() / 32);
  const moment = [1024, 32, 1].map((value) => ordered[Math.floor(unit / value) % 32]).join('');
  return moment + newId().slice(moment.length);
}

/** Encodes bytes in base 32. Base64url is shorter but can begin with `-`, which commands read as an option. */
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

/** The SHA-256 of a value in base64url. It does not depend on the order of keys. */
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
