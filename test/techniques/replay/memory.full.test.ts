import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('ten thousand parked passes leave nothing in memory', { timeout: 120_000 }, async () => {
  const child = join(import.meta.dirname, 'parked.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', child]);
  console.log(stdout.trim());
  const { parked, collected, grownMb } = JSON.parse(stdout);
  expect(parked - collected).toBeLessThan(100);
  expect(grownMb).toBeLessThan(10);
});
