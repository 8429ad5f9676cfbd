import { expect, test } from 'vitest';
import { Sealer } from './sealing.ts';

const key = new Uint8Array(32).fill(7);
const sealer = new Sealer(key, 'states');

test('opening a sealed value returns it unchanged', () => {
  const sealed = sealer.seal({ task: 'a', answers: [1, 'ü'] }, 1_000);
  expect(sealer.open(sealed, 1_000)).toEqual({ value: { task: 'a', answers: [1, 'ü'] } });
});

test('a sealed value reveals nothing, and sealing the same value twice gives different texts', () => {
  const sealed = sealer.seal({ task: 'secret-task' }, 1_000);
  expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('secret-task');
  expect(sealer.seal({ task: 'secret-task' }, 1_000)).not.toBe(sealed);
});

test('a sealed value expires', () => {
  expect(sealer.open(sealer.seal(1, 1_000), 1_001)).toEqual({ problem: 'expired' });
});

test('S2322-15: a sealed value with any changed bit is rejected', () => {
  const bytes = Buffer.from(sealer.seal({ task: 'a' }, 1_000), 'base64url');
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3]! ^= 1 << (bit & 7);
    expect(sealer.open(changed.toString('base64url'), 0)).toEqual({ problem: 'forged' });
  }
});

test('any changed character is rejected, even one that changes no bit', () => {
  for (const value of ['a', 'ab', 'abc']) {
    const sealed = sealer.seal(value, 1_000);
    expect(sealer.open(sealed, 0)).toEqual({ value });
    for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
      if (!sealed.endsWith(last))
        expect(sealer.open(sealed.slice(0, -1) + last, 0)).toEqual({ problem: 'forged' });
    for (const more of ['=', ' ', '\n', '!']) {
      expect(sealer.open(sealed + more, 0)).toEqual({ problem: 'forged' });
      expect(sealer.open(more + sealed, 0)).toEqual({ problem: 'forged' });
    }
  }
});

test('a sealed value cannot be opened with another key or for another purpose', () => {
  const sealed = sealer.seal(1, 1_000);
  expect(new Sealer(new Uint8Array(32), 'states').open(sealed, 0)).toEqual({ problem: 'forged' });
  expect(new Sealer(key, 'cursors').open(sealed, 0)).toEqual({ problem: 'forged' });
});

test.each(['', 'rubbish', '=', 'a'.repeat(10_000)])('malformed text is rejected as forged: %s', (text) => {
  expect(sealer.open(text, 0)).toEqual({ problem: 'forged' });
});
