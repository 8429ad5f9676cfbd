const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

const idBytes = 20;
/** Drawn for many ids at once: asking for random bytes costs the same however many they are. */
const drawn = new Uint8Array(128 * idBytes);
let used = drawn.length;

/** An identifier of 160 random bits. For anonymous callers it is the only key to a task, so nobody may guess it. */
export function newId(): string {
  if (used === drawn.length) {
    crypto.getRandomValues(drawn);
    used = 0;
  }
  const id = idFrom(drawn.subarray(used, used + idBytes));
  used += idBytes;
  return id;
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
