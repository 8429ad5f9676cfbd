/** Files with what tasks were asked and answered are for the user alone who made them, whatever the umask lets through. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { openSqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test } from 'vitest';

const script = new URL('./private-life.ts', import.meta.url).pathname;

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-modes-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The modes of everything below a folder, in octal, by path. */
function modesIn(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    entries.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [relative(folder, path), (statSync(path).mode & 0o777).toString(8)];
    }),
  );
}

/** What it looks like while a process with this umask has everything open. */
async function whileOpen(folder: string, umask: string): Promise<Record<string, string>> {
  const command = `umask ${umask}; exec "$@"`;
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', '--conditions=holdfast-source'];
  const child = spawn('/bin/sh', ['-c', command, 'sh', ...node, script, folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  await Promise.race([once(createInterface({ input: child.stdout }), 'line'), exited]);
  const modes = modesIn(folder);
  child.stdin.end();
  expect(await exited).toEqual([0, null]);
  return modes;
}

test('what is made is for its user alone', async () => {
  const modes = await whileOpen(aFolder(), '022');
  const names = Object.keys(modes).join('\n');
  for (const name of ['tasks.db', 'tasks.db-wal', 'tasks.db-shm', 'copy.db', 'calls.db', 'calls.db-wal'])
    expect(names).toContain(name);
  for (const name of [/tasks\.db-instances\/\w+\.lock/, /tasks\.db-instances\/\w+\.mark/, /lists\.json/])
    expect(names).toMatch(name);
  const isFolder = (path: string) => /^of(\/(tasks|calls|lists|tasks\/tasks\.db-instances))?$/.test(path);
  expect(modes).toEqual(
    Object.fromEntries(Object.keys(modes).map((path) => [path, isFolder(path) ? '700' : '600'])),
  );
});

test('a store that others may read stays as it is, and so does what SQLite and we put next to it', async () => {
  const folder = aFolder();
  const file = join(folder, 'tasks.db');
  await (await openSqlite(file)).close();
  chmodSync(folder, 0o755);
  chmodSync(file, 0o644);
  const database = await openSqlite(file);
  const modes = modesIn(folder);
  await database.close();
  expect(statSync(folder).mode & 0o777).toBe(0o755);
  expect(modes).toMatchObject({
    'tasks.db': '644',
    'tasks.db-wal': '644',
    'tasks.db-instances': '755',
  });
});
