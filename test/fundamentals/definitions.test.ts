/** What JavaScript lets through is refused where it was written, with a sentence that says what to write instead. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTasks, durablePrompt, durableResource, durableTool } from '../../src/index.ts';
import { sqlite } from '../../src/sqlite.ts';
import { withCode } from '../kit/with-code.ts';

const none = undefined as never;

test('a tool, resource or prompt without a handler is refused', () => {
  for (const define of [
    () => durableTool('t', {}, none),
    () => durableResource('r', { uri: 'a://b' }, none),
    () => durablePrompt('p', {}, none),
  ]) {
    expect(define).toThrow(withCode('INVALID_TOOL'));
    expect(define).toThrow(withCode('INVALID_TOOL'));
  }
});

test.each([
  ['the fields of an object', { a: z.string() }],
  ['JSON Schema', { type: 'object', properties: { a: { type: 'string' } } }],
])('%s in the place of a schema are refused', (_, schema) => {
  const wrong = schema as never;
  expect(() => durableTool('t', { inputSchema: wrong }, async () => 'x')).toThrow(
    /^The inputSchema of t is not a schema. .*z\.object/,
  );
  expect(() => durableTool('t', { outputSchema: wrong }, async () => none)).toThrow(withCode('INVALID_TOOL'));
  expect(() => durablePrompt('p', { argsSchema: wrong }, async () => 'x')).toThrow(withCode('INVALID_TOOL'));
});

test.each(['sqlite:tasks.db', undefined])('%s in the place of a store is refused', (store) => {
  expect(() => createTasks({ store: store as never })).toThrow(
    /was given no store: use sqlite\('tasks\.db'\)/,
  );
});

test('a key whose environment variable is not set is said to be missing, not to be too short', () => {
  const open = () => sqlite('memory:', { encryption: { keys: { '2026-11': none }, current: '2026-11' } });
  expect(open).toThrow(withCode('STORE_NOT_UNLOCKED'));
  expect(open).toThrow(/key 2026-11 is empty\. Check the environment variable/);
});
