const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * A new identifier of 160 random bits in base 32. For anonymous callers the id is the only key to a task,
 * so it must not be guessable; and it must never start with `-`, because people paste ids into terminals.
 */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(20));
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
