import { expect, test } from 'vitest';
import { CallFailed, commonFault } from './errors.ts';

const data = { reason: 'unavailable' };

test('a task that failed because another service was unavailable does not look like an unavailable server', () => {
  const failed = (data: object) =>
    commonFault(new CallFailed({ kind: 'failure', message: 'Full.', data: data as never }));
  expect(failed(data)).not.toHaveProperty('data');
  expect(failed({ reason: 'quota' })).toMatchObject({ data: { reason: 'quota' } });
});
