/** Files with what tasks were asked and answered are for the user alone who made them, whatever the umask lets through. */
import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { openSqlite } from 'holdfast/sqlite';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../kit/lifetime.ts';
import { Program } from '../kit/process.ts';

const script = new URL('./private-life.ts', import.meta.url).pathname;

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
  const program = new Program(['/bin/sh', '-c', command, 'sh', ...node, script, folder]);
  await program.line();
  const modes = modesIn(folder);
  program.child.stdin!.end();
  expect(await program.exit).toEqual({ code: 0, signal: null });
  return modes;
}

test('what is made is for its user alone', async () => {
  const modes = await whileOpen(temporaryFolder(), '022');
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
  const folder = temporaryFolder();
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
