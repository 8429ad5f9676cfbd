import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const program = join(import.meta.dirname, '../../../scripts/chaos.ts');

function chaos(...args: string[]) {
  return spawnSync(process.execPath, [program, ...args], { encoding: 'utf8', timeout: 60_000 });
}

test.each([
  [['--store', 'memory:'], /memory: cannot be used/],
  [['--store', 'postgres:not a server'], /requires postgres: without a URL, or the URL/],
  [['--store', 'tasks.db'], /requires sqlite:PATH/],
  [['--kills', 'many'], /--kills requires a whole number/],
  [['--kills', '0'], /--kills requires a whole number/],
  [['--seed', '-1'], /--seed requires a whole number/],
  [['--seeds', '1'], /unknown option --seeds/],
  [['twenty'], /"twenty" is not an option/],
])('npm run chaos refuses %j with one sentence and exit code 2', (args, sentence) => {
  const { status, stderr, stdout } = chaos(...args);
  expect(stderr).toMatch(sentence);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect([status, stdout]).toEqual([2, '']);
});

test('npm run chaos -- --help says what there is', () => {
  const { status, stdout } = chaos('--help');
  expect(stdout).toMatch(/--kills N.*--seed S.*--store sqlite:PATH.*--store postgres:.*--json/s);
  expect(status).toBe(0);
});
