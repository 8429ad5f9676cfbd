/** The cipher by itself: whatever is sealed comes back, and nothing else is ever taken for it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Corrupt } from '../../src/stores/shared/corrupt.ts';
import { Cipher, KeyMissing, keyIdOf } from '../../src/stores/shared/encryption/cipher.ts';
import { keyOf } from './keys.ts';

const keys = new Map(['first', 'second'].map((id) => [id, keyOf(id)]));
const cipher = new Cipher(keys, new Uint8Array(16));
const anyId = fc.constantFrom('first', 'second');
const anyText = fc.string({ unit: 'grapheme', maxLength: 300 });
const anyPlace = fc.string({ maxLength: 40 });

test('any text comes back as it was, under either key, and is not to be seen in what is stored', () => {
  fc.assert(
    fc.property(anyId, anyText, anyPlace, (id, text, place) => {
      const sealed = cipher.seal(id, text, place);
      expect(cipher.open(sealed, place).toString()).toBe(text);
      expect(keyIdOf(sealed)).toBe(id);
      if (text.length > 3) expect(Buffer.from(sealed).includes(text)).toBe(false);
    }),
  );
});

test('a value with any one bit changed, or in any other place, is never opened', () => {
  fc.assert(
    fc.property(anyId, anyText, anyPlace, fc.nat(), fc.nat(7), (id, text, place, at, bit) => {
      const sealed = cipher.seal(id, text, place);
      expect(() => cipher.open(sealed, `${place}!`)).toThrow(Corrupt);
      sealed[at % sealed.length]! ^= 1 << bit;
      const open = () => cipher.open(sealed, place);
      expect(open).toThrow();
      try {
        open();
      } catch (error) {
        expect(error instanceof Corrupt || error instanceof KeyMissing).toBe(true);
      }
    }),
  );
});

test('the same value in the same place is never stored as the same bytes, nor under the same nonce', () => {
  const nonces = new Set<string>();
  for (let n = 0; n < 5_000; n++) {
    const sealed = Buffer.from(cipher.seal('first', 'the same', 'here'));
    nonces.add(sealed.subarray(7, 19).toString('hex'));
  }
  expect(nonces.size).toBe(5_000);
});

test('files that share a key share no values: each has a salt of its own', () => {
  const other = new Cipher(keys, new Uint8Array(16).fill(1));
  expect(() => other.open(cipher.seal('first', 'a text', 'here'), 'here')).toThrow(Corrupt);
});
