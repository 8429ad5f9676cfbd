import { expect, test } from 'vitest';
import { checkPatch, defects } from './planted.ts';

test('there are planted defects of many kinds', () => {
  expect(defects.length).toBeGreaterThanOrEqual(22);
});

test.each(defects)('the planted defect $name still applies to the sources', (defect) => {
  checkPatch(defect);
});
