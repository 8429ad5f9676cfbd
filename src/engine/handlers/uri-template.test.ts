import { expect, test } from 'vitest';
import { uriTemplate } from './uri-template.ts';

test.each([
  ['report://daily', 'report://daily', {}],
  ['report://{day}', 'report://monday', { day: 'monday' }],
  ['report://{day}/{+path}', 'report://monday/a/b.txt', { day: 'monday', path: 'a/b.txt' }],
  ['report://{day}/all', 'report://monday/all', { day: 'monday' }],
  ['file:///{+path}.{ending}', 'file:///notes/v1.2.txt', { path: 'notes/v1.2', ending: 'txt' }],
  ['mail:{from}-{to}', 'mail:a-b-c', { from: 'a-b', to: 'c' }],
  ['mail:{+from}-{to}', 'mail:a-b/c-d', { from: 'a-b/c', to: 'd' }],
])('%s matches %s', (template, uri, variables) => {
  expect(uriTemplate(template).match(uri)).toEqual(variables);
});

test.each([
  ['report://daily', 'report://daily/'],
  ['report://daily', 'report://dail'],
  ['report://daily', ''],
  ['report://{day}', 'report://'],
  ['report://{day}', 'report://monday/late'],
  ['report://{day}/{+path}', 'report://monday/'],
  ['report://{day}/all', 'report://monday/allover'],
  ['report://v1.{day}', 'report://v12monday'],
])('%s does not match "%s"', (template, uri) => {
  expect(uriTemplate(template).match(uri)).toBeUndefined();
});

test('values are decoded, so that one segment may contain a slash', () => {
  expect(uriTemplate('report://{title}').match('report://tides%2F2026%20%C3%BC')).toEqual({
    title: 'tides/2026 ü',
  });
});

test('a URI with an invalid encoding does not match', () => {
  expect(uriTemplate('report://{title}').match('report://50%')).toBeUndefined();
});

test('a very long and repetitive URI is matched in linear time', () => {
  const { match } = uriTemplate('x:{a}-{b}-{c}-{d}-{+e}!');
  // With quadratic time this test would not finish.
  const long = '-'.repeat(1_000_000);
  expect(match(`x:${long}`)).toBeUndefined();
  expect(match(`x:${long}!`)).toMatchObject({ b: '-', e: '-' });
});

test.each([
  ['daily', 'it must begin with a scheme'],
  ['{scheme}://daily', 'it must begin with a scheme'],
  ['report://{?day}', '"{?day}" is not supported'],
  ['report://{day*}', '"{day*}" is not supported'],
  ['report://{a,b}', '"{a,b}" is not supported'],
  ['report://{}', '"{}" is not supported'],
  ['report://{day', '"report://{day" is not supported'],
  ['report://day}', '"report://day}" is not supported'],
  ['report://{day}/{+day}', '"day" occurs twice'],
  ['report://{day}{hour}', 'the beginning of "{hour}" is ambiguous'],
])('%s is refused: %s', (template, why) => {
  expect(() => uriTemplate(template)).toThrow(expect.objectContaining({ code: 'INVALID_TOOL' }));
  expect(() => uriTemplate(template)).toThrow(why);
});
