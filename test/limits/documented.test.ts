import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { defaultMaxValueSize, defaultTaskLimits } from '../../src/engine/rules/limits.ts';
import { maxIdempotencyKeyLength, maxOwnerLength, maxVersionLength } from '../../src/model/name-length.ts';
import { defaultLimits } from '../../src/task-methods/limits.ts';

const page = readFileSync(new URL('../../docs/limits.md', import.meta.url), 'utf8');

/** What the page says of a limit. */
function documented(name: string): number {
  const [, figure = ''] = new RegExp(`^\\| \`${name}\` \\| ([\\d,]+) \\|`, 'm').exec(page) ?? [];
  return Number(figure.replaceAll(',', ''));
}

test.each(Object.entries({ ...defaultLimits, ...defaultTaskLimits }))(
  'S1686-82, S2025-107: %s is documented as it is: %d',
  (name, value) => expect(documented(name)).toBe(value),
);

test('S1686-82, S2025-106: so are the largest value and the longest retention and deadline', () => {
  expect(page).toContain(`| ${defaultMaxValueSize.toLocaleString('en-US')} |`);
  expect(page).toContain('| `createTasks({ maxRetention })` | 30 days |');
  expect(page).toContain('| `createTasks({ maxDeadline })` | 30 days |');
});

test('so are the longest names', () => {
  expect(page).toContain(`| an idempotency key | ${maxIdempotencyKeyLength} |`);
  expect(page).toContain(`| an owner | ${maxOwnerLength.toLocaleString('en-US')} |`);
  expect(page).toContain(`| the name of a tool, and its version | ${maxVersionLength} |`);
});
