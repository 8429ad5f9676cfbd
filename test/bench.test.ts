/** Benchmarks compare with a bare loop of statements, which has to do what the store does. */
import { test } from 'vitest';
import { checkSameRows } from '../bench/same-rows.ts';
import { temporaryFolder } from './kit/lifetime.ts';

test('the baseline of the benchmarks writes the rows that the store writes', () =>
  checkSameRows(temporaryFolder()));
