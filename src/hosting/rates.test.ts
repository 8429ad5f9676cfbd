import { expect, test } from 'vitest';
import { OverLimit } from '../protocol/errors.ts';
import { Rate } from './rates.ts';

test('an owner is refused what is more than its share of a minute, and others are not', async () => {
  const rate = new Rate('looks', 300);
  for (let looks = 0; looks < 300; looks++) await rate.spend('ada');
  await expect(rate.spend('ada')).rejects.toThrow(OverLimit);
  await rate.spend('grace');
});
