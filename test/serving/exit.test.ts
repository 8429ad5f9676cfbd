/** Programs that only serve or work end soon after they were told to stop, whatever a handler has left behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { sqlite } from '../../src/sqlite.ts';
import { fixtureTasks } from '../fixture/server.ts';
import { fixtureArguments } from '../interop/fixture.ts';

const root = join(import.meta.dirname, '../..');
const holdfast = join(root, 'bin/holdfast.js');
const clean = [0, null];

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'holdfast-exit-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Resolves once it has said that it is ready. */
async function started(args: readonly string[], cwd = root): Promise<ChildProcess> {
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout! }), 'line'),
    once(child, 'close').then(() => ['']),
  ]);
  expect(line).not.toBe('');
  return child;
}

function stopped(child: ChildProcess): Promise<unknown[]> {
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  return exit;
}

test.each(['all', 'worker'])(
  'a fixture with the role %s ends although a step ignores its signal, and its task goes on elsewhere',
  async (role) => {
    const place = folder();
    const store = join(place, 'tasks.db');
    const file = join(place, 'begun');
    const tasks = fixtureTasks({ store: sqlite(store) });
    onTestFinished(() => tasks.close());
    const { id } = await tasks.create('stubborn', { seconds: 600, file });
    const words = ['--role', role, '--port', '0', '--store', `sqlite:${store}`];
    const child = await started(fixtureArguments(...words));
    await expect.poll(() => existsSync(file)).toBe(true);
    expect(await stopped(child)).toEqual(clean);
    const task = await tasks.get(id);
    expect(task).toMatchObject({ phase: 'running' });
    expect(task).not.toHaveProperty('holder');
  },
);

/** Holds the process for longer than a test may take, as a handler may that uses no signal. */
const holding = 'data:text/javascript,setTimeout(()=>{},600000)';

test.each([
  ['serve', (store: string) => ['--port', '0', '--store', store]],
  ['worker', (store: string) => ['--store', store]],
  ['demo', () => ['--port', '0']],
] as const)('holdfast %s ends although something holds its process', async (command, options) => {
  const place = folder();
  const store = join(place, 'tasks.db');
  await sqlite(store)().then((database) => database.close());
  writeFileSync(join(place, 'holdfast.json'), JSON.stringify({ commands: { true: { command: 'true' } } }));
  const args = ['--import', holding, holdfast, command, ...options(`sqlite:${store}`)];
  expect(await stopped(await started(args, place))).toEqual(clean);
});
