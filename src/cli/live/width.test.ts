import { expect, test } from 'vitest';
import { clean, oneLine, truncate, width, wrap } from '../views/terminal-text.ts';

test.each([
  ['kelp', 4],
  ['海藻', 4],
  ['e\u0301', 1],
  ['👩‍🔬', 2],
  ['❤️', 2],
  ['\x1b[31mred\x1b[39m', 3],
])('the width of %j is %i', (text, columns) => {
  expect(width(text)).toBe(columns);
});

test.each([
  ['kelp', 4, 'kelp'],
  ['kelp', 3, 'ke…'],
  ['海藻です', 6, '海藻…'],
  ['海藻です', 5, '海藻…'],
  ['海藻です', 4, '海…'],
  ['kelp', 0, ''],
])('%s cut to %i columns is %s', (text, columns, cut) => {
  expect(truncate(text, columns)).toBe(cut);
});

test('text is wrapped between words, and long words are broken', () => {
  expect(wrap('a holdfast anchors kelp', 10)).toEqual(['a holdfast', 'anchors', 'kelp']);
  expect(wrap('holdfastness', 8)).toEqual(['holdfast', 'ness']);
});

test('control characters are removed', () => {
  expect(clean('\x1b[2J\x1b]0;title\x07a\rb\x9b1mc\u202ed\te\n')).toBe('abcd\te\n');
  expect(oneLine(' a\n\tb\x00 ')).toBe('a b');
});

test('large and malicious texts are processed in linear time', () => {
  expect(clean(`a${'\x1b]'.repeat(200_000)}b`)).toBe(`a${']'.repeat(200_000)}b`);
  expect(clean('a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c')).toBe('abc');
  expect(clean('\x1b\x1b]x\x07]y')).toBe(']x]y');
  expect(wrap('x'.repeat(300_000), 100)).toHaveLength(3_000);
  expect(truncate('x'.repeat(5_000_000), 3)).toBe('xx…');
});
