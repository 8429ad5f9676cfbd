import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

function holdfast(...args: string[]) {
  const main = join(import.meta.dirname, 'main.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

test('--help says what the command is and how to use it', () => {
  const { status, stdout, stderr } = holdfast('--help');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^Holdfast: durable tasks for MCP.*\n\nUsage: holdfast /);
});

test('without a command it says the same', () => {
  expect(holdfast()).toEqual(holdfast('--help'));
});

test('an unknown command is wrong usage, told in one sentence', () => {
  expect(holdfast('frobnicate')).toEqual({
    status: 2,
    stdout: '',
    stderr: 'holdfast: there is no command "frobnicate"; `holdfast --help` says what there is.\n',
  });
});

test('an unknown option is wrong usage, told in one sentence', () => {
  expect(holdfast('--version', '--frobnicate')).toEqual({
    status: 2,
    stdout: '',
    stderr: 'holdfast: there is no option --frobnicate; `holdfast --help` says what there is.\n',
  });
});
