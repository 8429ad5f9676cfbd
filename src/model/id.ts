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
