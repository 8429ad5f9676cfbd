import { expect, test } from 'vitest';
import { cut, isInstance, messageOf, nameOf, shown } from './thrown.ts';

const untouchable = new Proxy(
  {},
  {
    get() {
      throw new Error('touched');
    },
    getPrototypeOf() {
      throw new Error('touched');
    },
    ownKeys() {
      throw new Error('touched');
    },
  },
);

test('an error is described by its message or its name, and any other value by its kind', () => {
  expect(messageOf(new Error('No.'))).toBe('No.');
  expect(messageOf(new TypeError())).toBe('An error without a message was thrown (TypeError).');
  expect(messageOf('No.')).toBe('No.');
  expect(messageOf(undefined)).toBe('Something was thrown that is not an error: undefined.');
  expect(messageOf({ status: 404, body: 'secret' })).toBe(
    'Something was thrown that is not an error: an object with "status", "body".',
  );
  expect(messageOf(new URL('http://127.0.0.1/'))).toBe('http://127.0.0.1/');
});

test('a value that throws when it is read is described without an error', () => {
  expect(messageOf(untouchable)).toBe('Something was thrown that cannot be read.');
  expect(nameOf(untouchable)).toBe('Error');
  expect(shown(untouchable)).toBe('an object that cannot be read');
  expect(isInstance(untouchable, Error)).toBe(false);
});

test('a long message is cut, but never inside a character', () => {
  expect(messageOf(new Error('x'.repeat(70_000)))).toHaveLength(65_536);
  expect(cut('short', 5)).toBe('short');
  for (let longest = 30; longest < 40; longest++) {
    const text = cut('👍'.repeat(100), longest);
    expect(text).toHaveLength(text.isWellFormed() ? text.length : -1);
    expect(text.length).toBeLessThanOrEqual(longest);
    expect(text).toContain('cut, 200 characters');
  }
});
