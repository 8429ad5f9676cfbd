/** That what was confided came back, every part of it. */
import { expect } from 'vitest';
import type { Outcome } from '../../src/index.ts';
import { secretIn } from './secrets.ts';

export function expectWhole(outcome: Outcome): void {
  expect(outcome).toMatchObject({
    kind: 'result',
    isError: false,
    value: {
      structuredContent: {
        text: secretIn('argument'),
        deep: [{ text: secretIn('nested argument') }],
        first: { value: secretIn('step value') },
        event: { value: secretIn('event value') },
        answer: { action: 'accept', content: { code: secretIn('answer') } },
      },
    },
  });
  const { value } = outcome as Extract<Outcome, { kind: 'result' }>;
  expect(JSON.stringify(value)).toContain(`${secretIn('subtask argument')}, ${secretIn('subtask result')}`);
}
