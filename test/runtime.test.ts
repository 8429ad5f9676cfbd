import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isOlder, oldestNode } from '../src/check-node.ts';

const { devDependencies, engines } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);

// npm may block the install script of the package `node`, and everything then runs on whatever the machine has.
test('tests run on the Node that package.json pins', () => {
  expect(process.version).toBe(`v${devDependencies.node}`);
});

test('children that tests start by the name of node run on it too', () => {
  expect(execFileSync('node', ['--version'], { encoding: 'utf8' }).trim()).toBe(`v${devDependencies.node}`);
});

test('the check that every entry makes and package.json name the same oldest Node', () => {
  expect(engines.node).toBe(`>=${oldestNode}`);
});

test.each([
  ['20.20.2', true],
  ['22.9.0', true],
  ['22.17.1', true],
  ['22.18.0', false],
  ['24.0.0', false],
])('Node %s is too old: %s', (version, tooOld) => {
  expect(isOlder(version, oldestNode)).toBe(tooOld);
});

// Node 22.18 treats `?1` as a named parameter, so that only a bare `?` can be bound by position everywhere.
test('SQLite statements do not number their parameters, so that the oldest Node can bind them', () => {
  const folder = new URL('../src/stores/', import.meta.url);
  const numbered = ['sqlite/', 'shared/'].flatMap((part) =>
    readdirSync(new URL(part, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .filter((file) => /\?(\d|\$\{)/.test(readFileSync(new URL(part + file, folder), 'utf8')))
      .map((file) => part + file),
  );
  expect(numbered).toEqual([]);
});

// SQLite recompiles a statement each time a bare limit is bound.
test('SQLite statements that are prepared once hide their limits from the planner', () => {
  const folder = new URL('../src/stores/sqlite/', import.meta.url);
  const bare = ['tasks/statements.ts', 'queue/fair-order.ts', 'queue/queue.ts'].filter((file) =>
    /limit \?/.test(readFileSync(new URL(file, folder), 'utf8').replace(/^ \*.*$/gm, '')),
  );
  expect(bare).toEqual([]);
});
