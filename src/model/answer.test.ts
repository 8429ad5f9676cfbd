import { describe, expect, test } from 'vitest';
import { answerProblem } from './answer.ts';
import type { JsonObject } from './json.ts';

function problem(property: JsonObject, value: unknown): string | undefined {
  const schema = { type: 'object', properties: { it: property } };
  return answerProblem(
    { kind: 'form', message: '', schema },
    { action: 'accept', content: { it: value as never } },
  );
}

describe('a form', () => {
  test.each<[JsonObject, unknown, string | undefined]>([
    [{ type: 'string' }, 'tides', undefined],
    [{ type: 'string' }, 7, '"it" must be a string'],
    [{ type: 'string', minLength: 2 }, '🌊', '"it" must have at least 2 characters'],
    [{ type: 'string', maxLength: 2 }, '🌊🌊', undefined],
    [{ type: 'string', maxLength: 2 }, 'abc', '"it" must have at most 2 characters'],
    [{ type: 'string', format: 'email' }, 'ada@example.org', undefined],
    [{ type: 'string', format: 'email' }, 'ada', '"it" must be an e-mail address'],
    [{ type: 'string', format: 'uri' }, 'https://example.org/a', undefined],
    [{ type: 'string', format: 'uri' }, 'not a uri', '"it" must be a URI'],
    [{ type: 'string', format: 'date' }, '2024-02-29', undefined],
    [{ type: 'string', format: 'date' }, '2026-02-29', '"it" must be a date such as 2026-07-28'],
    [{ type: 'string', format: 'date-time' }, '2026-07-28T09:30:00+02:00', undefined],
    [
      { type: 'string', format: 'date-time' },
      '2026-07-28',
      '"it" must be a date and time such as 2026-07-28T09:30:00Z',
    ],
    [{ type: 'string', enum: ['a', 'b'] }, 'b', undefined],
    [{ type: 'string', enum: ['a', 'b'] }, 'c', '"it" must be one of "a", "b"'],
    [{ type: 'string', oneOf: [{ const: 'a', title: 'First' }] }, 'First', '"it" must be one of "a"'],
    [{ type: 'number', minimum: 1, maximum: 2 }, 1.5, undefined],
    [{ type: 'number', minimum: 1 }, 0, '"it" must be at least 1'],
    [{ type: 'number', maximum: 2 }, 3, '"it" must be at most 2'],
    [{ type: 'number' }, '3', '"it" must be a number'],
    [{ type: 'integer' }, 3, undefined],
    [{ type: 'integer' }, 3.5, '"it" must be a whole number'],
    [{ type: 'boolean' }, false, undefined],
    [{ type: 'boolean' }, 'false', '"it" must be true or false'],
    [{ type: 'array', items: { type: 'string', enum: ['a', 'b'] } }, ['a', 'b'], undefined],
    [
      { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
      ['c'],
      '"it" must contain only "a", "b"',
    ],
    [{ type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }] } }, ['a'], undefined],
    [{ type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }] } }, ['b'], '"it" must contain only "a"'],
    [{ type: 'array', items: {}, minItems: 1 }, [], '"it" must contain at least 1'],
    [{ type: 'array', items: {}, maxItems: 1 }, ['a', 'b'], '"it" must contain at most 1'],
    [{ type: 'array', items: {} }, ['a', 'a'], '"it" must not contain anything twice'],
    [{ type: 'array', items: {} }, 'a', '"it" must be a list'],
  ])('with %j takes %j: %s', (property, value, expected) => {
    expect(problem(property, value)).toBe(expected);
  });

  const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
  const form = { kind: 'form', message: 'Who?', schema } as const;

  test('must contain the required fields', () => {
    expect(answerProblem(form, { action: 'accept', content: { input: 'Ada' } })).toBe('"name" is missing');
    expect(answerProblem(form, { action: 'accept' })).toBe('"content" must be an object');
  });

  test('may contain additional fields', () => {
    expect(answerProblem(form, { action: 'accept', content: { name: 'Ada', mood: 'fine' } })).toBe(undefined);
  });

  test('needs no content if it is declined or cancelled', () => {
    expect(answerProblem(form, { action: 'decline' })).toBe(undefined);
    expect(answerProblem(form, { action: 'cancel' })).toBe(undefined);
  });

  test('must have a valid action', () => {
    expect(answerProblem(form, { content: { name: 'Ada' } })).toMatch(/"action" must be/);
    expect(answerProblem(form, 'Ada' as never)).toBe('it must be an object');
  });
});

test('the answer to a URL question only has an action', () => {
  const request = {
    kind: 'url',
    message: 'Sign in',
    url: 'https://example.org',
    elicitationId: '1',
  } as const;
  expect(answerProblem(request, { action: 'accept' })).toBe(undefined);
  expect(answerProblem(request, {})).toMatch(/"action"/);
});

test('a sampling answer has a role, a model and content', () => {
  const request = { kind: 'sampling', params: { messages: [], maxTokens: 1 } } as const;
  const text = { type: 'text', text: 'Hello' };
  expect(answerProblem(request, { role: 'assistant', model: 'm', content: text })).toBe(undefined);
  expect(answerProblem(request, { role: 'assistant', model: 'm', content: [text, text] })).toBe(undefined);
  expect(answerProblem(request, { role: 'robot', model: 'm', content: text })).toMatch(/"role"/);
  expect(answerProblem(request, { role: 'assistant', content: text })).toMatch(/"model"/);
  expect(answerProblem(request, { role: 'assistant', model: 'm', content: 'Hello' })).toMatch(/"content"/);
  expect(answerProblem(request, { role: 'assistant', model: 'm', content: [] })).toMatch(/"content"/);
});

test('roots are a list of objects with a URI', () => {
  expect(answerProblem({ kind: 'roots' }, { roots: [{ uri: 'file:///a' }] })).toBe(undefined);
  expect(answerProblem({ kind: 'roots' }, { roots: [{ name: 'a' }] })).toMatch(/"roots"/);
  expect(answerProblem({ kind: 'roots' }, {})).toMatch(/"roots"/);
});
