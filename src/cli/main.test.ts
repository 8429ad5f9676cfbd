import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const main = join(import.meta.dirname, 'main.ts');

function holdfast(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

test('--help describes the command and its usage', () => {
  const { status, stdout, stderr } = holdfast('--help');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^Holdfast: durable tasks for MCP.*\n\nUsage: holdfast /);
});

test('without a command it prints the same help', () => {
  expect(holdfast()).toEqual(holdfast('--help'));
});

test('an unknown command is wrong usage, reported in one sentence', () => {
  expect(holdfast('frobnicate')).toEqual({
    status: 2,
    stdout: '',
    stderr: 'holdfast: unknown command "frobnicate"; see `holdfast --help`.\n',
  });
});

test('an unknown option is wrong usage, reported in one sentence', () => {
  expect(holdfast('--version', '--frobnicate')).toEqual({
    status: 2,
    stdout: '',
    stderr: 'holdfast: unknown option --frobnicate; see `holdfast --help`.\n',
  });
});

test.skipIf(!existsSync('/dev/full'))('an output that cannot be written is a failure', () => {
  const command = '"$0" "$1" --help > /dev/full';
  const { status, stderr } = spawnSync('sh', ['-c', command, process.execPath, main], { encoding: 'utf8' });
  expect(status).toBe(1);
  expect(stderr).toMatch(/^holdfast: Could not write output \(ENOSPC: .*\)\.\n$/);
});

test('an error that quotes a file contains no control characters', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-main-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const config = join(folder, 'servers.json');
  writeFileSync(config, JSON.stringify({ mcpServers: { 'kelp\x1b[2J\x9b31m': { command: 'true' } } }));
  const { status, stderr } = holdfast('call', 'reef', 'tool', '--config', config);
  expect(status).toBe(2);
  expect(stderr).toContain('has no server "reef", only "kelp"');
  expect(stderr.trimEnd()).not.toMatch(/\p{Cc}/u);
});

test('a folder that cannot be created is reported in one sentence', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-main-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'file'), '');
  const store = `sqlite:${join(folder, 'file/below/tasks.db')}`;
  const { status, stderr } = holdfast('serve', '--store', store, '--', 'true');
  expect(status).toBe(1);
  expect(stderr).toMatch(/^holdfast: Could not create the folder \S+ \(.*\): choose another [^\n]*\n$/);
});
