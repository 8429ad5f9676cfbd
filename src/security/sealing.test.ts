import { expect, test } from 'vitest';
import { Sealer } from './sealing.ts';

const key = new Uint8Array(32).fill(7);
const sealer = new Sealer(key, 'states');

test('what was sealed comes back as it was', () => {
  const sealed = sealer.seal({ task: 'a', answers: [1, 'ü'] }, 1_000);
  expect(sealer.open(sealed, 1_000)).toEqual({ value: { task: 'a', answers: [1, 'ü'] } });
});

test('it shows nothing of what it holds, and never looks the same twice', () => {
  const sealed = sealer.seal({ task: 'secret-task' }, 1_000);
  expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('secret-task');
  expect(sealer.seal({ task: 'secret-task' }, 1_000)).not.toBe(sealed);
});

test('after its time it is expired', () => {
  expect(sealer.open(sealer.seal(1, 1_000), 1_001)).toEqual({ problem: 'expired' });
});

test('S2322-15: no bit of it can be changed', () => {
  const bytes = Buffer.from(sealer.seal({ task: 'a' }, 1_000), 'base64url');
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3]! ^= 1 << (bit & 7);
    expect(sealer.open(changed.toString('base64url'), 0)).toEqual({ problem: 'forged' });
  }
});

test('nor any character of it, even where that changes no bit', () => {
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

test('another key or another purpose does not open it', () => {
  const sealed = sealer.seal(1, 1_000);
  expect(new Sealer(new Uint8Array(32), 'states').open(sealed, 0)).toEqual({ problem: 'forged' });
  expect(new Sealer(key, 'cursors').open(sealed, 0)).toEqual({ problem: 'forged' });
});

test.each(['', 'rubbish', '=', 'a'.repeat(10_000)])('rubbish is forged: %s', (rubbish) => {
  expect(sealer.open(rubbish, 0)).toEqual({ problem: 'forged' });
});
