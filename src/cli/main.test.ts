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

test.skipIf(!existsSync('/dev/full'))('an output that cannot be written is a failure', () => {
  const command = '"$0" "$1" --help > /dev/full';
  const { status, stderr } = spawnSync('sh', ['-c', command, process.execPath, main], { encoding: 'utf8' });
  expect(status).toBe(1);
  expect(stderr).toMatch(/^holdfast: What was to be said could not be written \(ENOSPC: .*\)\.\n$/);
});

test('what a file says cannot steer the terminal when an error quotes it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-main-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const config = join(folder, 'servers.json');
  writeFileSync(config, JSON.stringify({ mcpServers: { 'kelp\x1b[2J\x9b31m': { command: 'true' } } }));
  const { status, stderr } = holdfast('call', 'reef', 'tool', '--config', config);
  expect(status).toBe(2);
  expect(stderr).toContain('knows no "reef", only "kelp"');
  expect(stderr.trimEnd()).not.toMatch(/\p{Cc}/u);
});

test('a folder that cannot be made is told in one sentence', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-main-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'file'), '');
  const store = `sqlite:${join(folder, 'file/below/tasks.db')}`;
  const { status, stderr } = holdfast('serve', '--store', store, '--', 'true');
  expect(status).toBe(1);
  expect(stderr).toMatch(/^holdfast: The folder \S+ cannot be made \(.*\): choose a place [^\n]*\n$/);
});
