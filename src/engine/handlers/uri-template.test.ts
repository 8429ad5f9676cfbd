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
])('%s means %s', (template, uri, variables) => {
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
])('%s does not mean "%s"', (template, uri) => {
  expect(uriTemplate(template).match(uri)).toBeUndefined();
});

test('values are decoded, so that one segment may carry a slash', () => {
  expect(uriTemplate('report://{title}').match('report://tides%2F2026%20%C3%BC')).toEqual({
    title: 'tides/2026 ü',
  });
});

test('a URI with a broken encoding means nothing', () => {
  expect(uriTemplate('report://{title}').match('report://50%')).toBeUndefined();
});

test('a URI of a stranger, however long and repetitive, is matched at once', () => {
  const { match } = uriTemplate('x:{a}-{b}-{c}-{d}-{+e}!');
  // Time that grew with the square of the length would be more than a test has.
  const long = '-'.repeat(1_000_000);
  expect(match(`x:${long}`)).toBeUndefined();
  expect(match(`x:${long}!`)).toMatchObject({ b: '-', e: '-' });
});

test.each([
  ['daily', 'begin it with a scheme'],
  ['{scheme}://daily', 'begin it with a scheme'],
  ['report://{?day}', '"{?day}" is not understood'],
  ['report://{day*}', '"{day*}" is not understood'],
  ['report://{a,b}', '"{a,b}" is not understood'],
  ['report://{}', '"{}" is not understood'],
  ['report://{day', '"report://{day" is not understood'],
  ['report://day}', '"report://day}" is not understood'],
  ['report://{day}/{+day}', '"day" stands in it twice'],
  ['report://{day}{hour}', 'where the value of "{hour}" begins'],
])('%s is refused: %s', (template, why) => {
  expect(() => uriTemplate(template)).toThrow(expect.objectContaining({ code: 'INVALID_TOOL' }));
  expect(() => uriTemplate(template)).toThrow(why);
});
