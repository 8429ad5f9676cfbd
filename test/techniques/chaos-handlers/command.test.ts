import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const program = join(import.meta.dirname, '../../../scripts/chaos.ts');

function chaos(...args: string[]) {
  return spawnSync(process.execPath, [program, ...args], { encoding: 'utf8', timeout: 60_000 });
}

test.each([
  [['--store', 'memory:'], /memory: makes no sense here/],
  [['--store', 'postgres:not a server'], /wants postgres: alone, or a URL/],
  [['--store', 'tasks.db'], /wants sqlite:PATH/],
  [['--kills', 'many'], /--kills wants a whole number/],
  [['--kills', '0'], /--kills wants a whole number/],
  [['--seed', '-1'], /--seed wants a whole number/],
  [['--seeds', '1'], /there is no option --seeds/],
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
