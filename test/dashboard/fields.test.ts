import { expect, test } from 'vitest';
import { toJSONSchema, z } from 'zod';
import { type Entries, fieldsOf, firstEntries, readEntries } from '../../dashboard/src/question/fields.ts';
import { answerProblem } from '../../src/model/answer.ts';
import type { JsonObject } from '../../src/model/json.ts';

function form(properties: JsonObject, required: readonly string[] = []) {
  return fieldsOf({ type: 'object', properties, required });
}

function answered(properties: JsonObject, entries: Entries, required: readonly string[] = []) {
  const fields = form(properties, required);
  return readEntries(fields, { ...firstEntries(fields), ...entries });
}

test('every primitive type gets a matching control', () => {
  const fields = form({
    name: { type: 'string', title: 'Your name', maxLength: 80 },
    essay: { type: 'string', maxLength: 2_000 },
    mail: { type: 'string', format: 'email' },
    site: { type: 'string', format: 'uri' },
    day: { type: 'string', format: 'date' },
    at: { type: 'string', format: 'date-time' },
    share: { type: 'number', minimum: 0, maximum: 1 },
    age: { type: 'integer', minimum: 18 },
    agreed: { type: 'boolean' },
    odd: { type: 'object' },
  });
  expect(fields.map(({ name, control }) => [name, control.type])).toEqual([
    ['name', 'text'],
    ['essay', 'long-text'],
    ['mail', 'text'],
    ['site', 'text'],
    ['day', 'text'],
    ['at', 'moment'],
    ['share', 'number'],
    ['age', 'number'],
    ['agreed', 'yes-no'],
    ['odd', 'json'],
  ]);
  expect(fields[0]).toMatchObject({ label: 'Your name', hint: 'At most 80 characters' });
  expect(fields[6]).toMatchObject({ hint: 'A number from 0 to 1' });
  expect(fields[7]).toMatchObject({ hint: 'A whole number at least 18' });
});

test('choices come from enum, enumNames, oneOf and anyOf, single or multiple', () => {
  const fields = form({
    plain: { type: 'string', enum: ['a', 'b'] },
    named: { type: 'string', enum: ['a', 'b'], enumNames: ['Alpha', 'Beta'] },
    titled: { type: 'string', oneOf: [{ const: 'a', title: 'Alpha' }] },
    some: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, maxItems: 1 },
    someTitled: { type: 'array', items: { anyOf: [{ const: 'a', title: 'Alpha' }] } },
  });
  const choices = fields.map(({ control }) =>
    'choices' in control ? [control.type, ...control.choices.map(({ title }) => title)] : [],
  );
  expect(choices).toEqual([
    ['one', 'a', 'b'],
    ['one', 'Alpha', 'Beta'],
    ['one', 'Alpha'],
    ['some', 'a', 'b'],
    ['some', 'Alpha'],
  ]);
});

test('defaults are the initial values of the form, and are sent unchanged', () => {
  const properties = {
    name: { type: 'string', default: 'Ann' },
    count: { type: 'integer', default: 3 },
    agreed: { type: 'boolean', default: false },
    one: { type: 'string', enum: ['a', 'b'], default: 'b' },
    some: { type: 'array', items: { enum: ['a', 'b', 'c'] }, default: ['a', 'c'] },
    at: { type: 'string', format: 'date-time', default: '2026-07-28T09:30:00.000Z' },
  };
  expect(answered(properties, {})).toEqual({
    content: {
      name: 'Ann',
      count: 3,
      agreed: false,
      one: 'b',
      some: ['a', 'c'],
      at: '2026-07-28T09:30:00.000Z',
    },
  });
});

test('empty optional fields are left out of the answer', () => {
  const properties = { name: { type: 'string' }, agreed: { type: 'boolean' }, n: { type: 'number' } };
  expect(answered(properties, {})).toEqual({ content: {} });
});

test('every empty required field is reported with its own message', () => {
  const properties = {
    name: { type: 'string', title: 'Name' },
    agreed: { type: 'boolean' },
    some: { type: 'array', items: { enum: ['a'] }, minItems: 1 },
  };
  expect(answered(properties, {}, ['name', 'agreed', 'some'])).toEqual({
    problems: [
      { name: 'name', label: 'Name', message: 'This is required.' },
      { name: 'agreed', label: 'agreed', message: 'Choose one.' },
      { name: 'some', label: 'some', message: 'Choose at least one.' },
    ],
  });
});

test('for a required list that may be empty, no selection is a valid answer', () => {
  expect(answered({ some: { type: 'array', items: { enum: ['a'] } } }, {}, ['some'])).toEqual({
    content: { some: [] },
  });
});

test.each([
  [{ type: 'string', minLength: 3 }, 'ab', 'This must have at least 3 characters.'],
  [{ type: 'string', maxLength: 3 }, 'abcd', 'This must have at most 3 characters.'],
  [{ type: 'string', pattern: '^[A-Z]+$' }, 'abc', 'This must have the form ^[A-Z]+$.'],
  [{ type: 'string', format: 'email' }, 'ann', 'This must be an e-mail address.'],
  [{ type: 'string', format: 'uri' }, 'over there', 'This must be a URI.'],
  [{ type: 'string', format: 'date' }, '2026-02-30', 'This must be a date such as 2026-07-28.'],
  [{ type: 'string', format: 'date-time' }, 'noon', 'This is not a date with a time.'],
  [{ type: 'number', minimum: 1 }, '0.5', 'This must be at least 1.'],
  [{ type: 'number', maximum: 1 }, '1.5', 'This must be at most 1.'],
  [{ type: 'integer' }, '1.5', 'This must be a whole number.'],
  [{ type: 'number' }, 'many', 'This is not a number.'],
  [{ type: 'array', items: { enum: ['a', 'b'] }, maxItems: 1 }, [0, 1], 'This must contain at most 1.'],
  [{ type: 'object' }, '{a', 'This is not JSON: check quotes and commas.'],
])('%j refuses %j with a sentence', (schema, entry, message) => {
  expect(answered({ it: schema }, { it: entry })).toEqual({
    problems: [{ name: 'it', label: 'it', message }],
  });
});

test('a pattern that a library adds to a format is not shown', () => {
  const schema = toJSONSchema(z.object({ mail: z.email(), code: z.string().regex(/^[A-Z]+$/) }));
  const { properties } = schema as { properties: JsonObject };
  expect(Object.keys(properties.mail as JsonObject)).toContain('pattern');
  expect(form(properties).map(({ hint }) => hint)).toEqual([undefined, 'In the form ^[A-Z]+$']);
  expect(answered(properties, { mail: 'ann@pier', code: 'A' })).toEqual({
    problems: [
      {
        name: 'mail',
        label: 'mail',
        message: 'This is not in the format that the tool requires for e-mail addresses.',
      },
    ],
  });
});

test('an invalid pattern accepts everything, because the server judges', () => {
  expect(answered({ it: { type: 'string', pattern: '(' } }, { it: 'x' })).toEqual({ content: { it: 'x' } });
});

test('the server accepts every answer that the form accepts', () => {
  const schema = {
    type: 'object',
    properties: {
      __proto__x: { type: 'string' },
      'odd "name"': { type: 'integer', minimum: 2 },
      at: { type: 'string', format: 'date-time' },
      one: { type: 'string', oneOf: [{ const: 'a', title: 'Alpha' }] },
    },
    required: ['one'],
  };
  const entries = { __proto__x: 'x', 'odd "name"': '2', at: '2026-07-28T09:30', one: [0] };
  const read = readEntries(fieldsOf(schema), entries);
  expect(read.problems).toBeUndefined();
  const { content } = read as { content: JsonObject };
  expect(answerProblem({ kind: 'form', message: '', schema }, { action: 'accept', content })).toBeUndefined();
  expect(content).toMatchObject({ 'odd "name"': 2, one: 'a' });
});
