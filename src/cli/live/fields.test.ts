import { expect, test } from 'vitest';
import type { JsonObject } from '../../model/json.ts';
import { fieldsOf, shownFallback } from '../calls/ask.ts';

function field(property: JsonObject, isRequired = true) {
  return fieldsOf({ properties: { it: property }, required: isRequired ? ['it'] : [] })[0]!;
}

const titled = {
  oneOf: [
    { const: 's', title: 'Small' },
    { const: 'l', title: 'Large' },
  ],
};
const several = { type: 'array', items: { enum: ['red', 'green', 'brown'] }, minItems: 1, maxItems: 2 };

test.each<[JsonObject, string, unknown]>([
  [{ type: 'string' }, ' kelp ', 'kelp'],
  [{ type: 'string', minLength: 2 }, '海藻', '海藻'],
  [{ type: 'string', format: 'email' }, 'a@b.example', 'a@b.example'],
  [{ type: 'string', format: 'date' }, '2026-07-28', '2026-07-28'],
  [{ type: 'integer', minimum: -1 }, '-1', -1],
  [{ type: 'number' }, '1.5', 1.5],
  [{ type: 'boolean' }, 'YES', true],
  [{ type: 'boolean', default: true }, '', true],
  [{ type: 'boolean' }, 'n', false],
  [{ type: 'string', enum: ['a', 'b'] }, '2', 'b'],
  [{ type: 'string', enum: ['2', '1'] }, '2', '2'],
  [{ type: 'string', enum: ['a', 'b'], enumNames: ['Ann', 'Ben'] }, 'ben', 'b'],
  [{ type: 'string', ...titled }, 'large', 'l'],
  [several, '3, red', ['brown', 'red']],
])('%j takes "%s"', (property, words, value) => {
  expect(field(property).read(words)).toEqual({ value });
});

test.each<[JsonObject, string, string]>([
  [{ type: 'string' }, ' ', 'A value is required.'],
  [{ type: 'string', maxLength: 3 }, 'kelp', 'It must have at most 3 characters.'],
  [{ type: 'string', pattern: '^a' }, 'kelp', 'It must match ^a.'],
  [{ type: 'string', format: 'uri' }, 'kelp', 'It must be a URL.'],
  [{ type: 'string', format: 'date' }, '2026-13-01', 'It must be a date such as 2026-07-28.'],
  [{ type: 'integer' }, '1.5', 'It must be a whole number.'],
  [{ type: 'number' }, 'many', 'many is not a number.'],
  [{ type: 'number', minimum: 1 }, '0', 'It must be at least 1.'],
  [{ type: 'boolean' }, '1', 'Enter y or n.'],
  [{ type: 'string', enum: ['a', 'b'] }, '3', '3 is not one of the choices: enter a number from 1 to 2.'],
  [several, 'red, blue', 'blue is not one of the choices.'],
  [several, '1,2,3', 'Choose at most 2.'],
])('%j refuses "%s"', (property, words, problem) => {
  expect(field(property).read(words)).toEqual({ problem });
});

test('an optional value can be omitted', () => {
  expect(field({ type: 'number' }, false).read('')).toEqual({ value: undefined });
});

test('a default is shown as it would be entered', () => {
  expect(shownFallback(field({ type: 'boolean', default: false }))).toBe('n');
  expect(shownFallback(field({ type: 'string', default: 'l', ...titled }))).toBe('Large');
  expect(shownFallback(field({ ...several, default: ['red', 'green'] }))).toBe('red, green');
});
