import fc from 'fast-check';
import { expect, test } from 'vitest';
import { aTask } from '../testing/fixtures.ts';
import { claimed, created, did, family, now, rules } from '../testing/notebook.ts';
import type { Json } from './json.ts';
import { redactTask, redactValue, secretFields } from './redaction.ts';

const fields = secretFields(['apiKey', 'card.number', 'items[].token']);

test('only declared fields are hidden', () => {
  const value = {
    apiKey: 's3cret',
    card: { number: 4111, holder: 'Ada' },
    items: [{ token: 'a', name: 'one' }, { name: 'two' }, { token: null }],
    number: 7,
    token: 'of no item',
  };
  expect(redactValue(value, fields)).toEqual({
    apiKey: '[redacted]',
    card: { number: '[redacted]', holder: 'Ada' },
    items: [{ token: '[redacted]', name: 'one' }, { name: 'two' }, { token: '[redacted]' }],
    number: 7,
    token: 'of no item',
  });
  expect(value.apiKey).toBe('s3cret');
});

test.each<[string, Json, Json]>([
  ['a text where an object was expected', { card: '4111' }, { card: '[redacted]' }],
  ['a list where an object was expected', { card: [{ number: 1 }] }, { card: [{ number: '[redacted]' }] }],
  ['an object where a list was expected', { items: { token: 1 } }, { items: { token: '[redacted]' } }],
  ['a list of lists', { items: [[{ token: 1 }]] }, { items: [[{ token: '[redacted]' }]] }],
  ['a whole object', { apiKey: { a: 1 } }, { apiKey: '[redacted]' }],
  ['a text instead of everything', 's3cret', '[redacted]'],
  ['nothing', { card: null }, { card: null }],
])('if a value has another shape, more is hidden, not less: %s', (_, value, shown) => {
  expect(redactValue(value, fields)).toEqual(shown);
});

test('everything of an unknown tool is hidden', () => {
  expect(redactValue({ a: 1 }, 'all')).toBe('[redacted]');
});

test('a key named __proto__ stays an ordinary key', () => {
  const value = JSON.parse('{"__proto__": {"apiKey": 1}, "apiKey": 2}');
  expect(JSON.stringify(redactValue(value, fields))).toBe('{"__proto__":{"apiKey":1},"apiKey":"[redacted]"}');
});

test.each(['', '.', 'a.', '.a', 'a..b', 'a[0]', '[]', 'a[', 'a]b', 'a b', '$.a[*]', 7, null])(
  '%j is refused as a path, with an example',
  (path) => {
    expect(() => secretFields([path as string])).toThrow(expect.objectContaining({ code: 'INVALID_SECRET' }));
    expect(() => secretFields([path as string])).toThrow('"items[].token"');
  },
);

test('a single path instead of a list is refused', () => {
  expect(() => secretFields('apiKey' as never)).toThrow(expect.objectContaining({ code: 'INVALID_SECRET' }));
});

const secret = 'hunter2-';
/** A value with a secret in every declared field, and with other fields. */
const withSecrets = fc.record({
  apiKey: fc.nat().map((n) => `${secret}${n}`),
  card: fc.record({ number: fc.constant(`${secret}card`), holder: fc.string() }),
  items: fc.array(fc.record({ token: fc.nat().map((n) => [`${secret}${n}`]), name: fc.jsonValue() })),
  other: fc.jsonValue(),
});

test('declared fields of answers, results and events are hidden everywhere in a task', () => {
  fc.assert(
    fc.property(withSecrets, withSecrets, withSecrets, (answer, result, event) => {
      const { task, claim } = claimed(created(aTask()));
      const request = { kind: 'form', message: 'Which card?', schema: {} } as const;
      did(rules.ask(now(task), claim, { key: 'card', request }, 1));
      did(rules.answer(now(task), { card: { action: 'accept', content: answer as never } }, 2));
      did(rules.completeEvent(now(task), 'paid', event as never, 3));
      const value = {
        content: [
          { type: 'text', text: JSON.stringify(result) },
          { type: 'resource', resource: { uri: 'a:b', text: JSON.stringify([result], null, 2) } },
        ],
        structuredContent: result,
        contents: [{ uri: 'a:b', text: JSON.stringify(result) }],
        messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify(result) } }],
      } as never;
      did(rules.complete(family(task), claim, { kind: 'result', isError: false, value }, 4));
      expect(JSON.stringify(now(task))).toContain(secret);
      const shown = JSON.stringify(redactTask(now(task), fields));
      expect(shown).not.toContain(secret);
      expect(shown).toContain('Which card?');
      expect(JSON.stringify(redactTask(now(task), 'all'))).not.toContain(secret);
      expect(redactTask(now(task), [])).toEqual(now(task));
    }),
    { numRuns: 50 },
  );
});
