/** Programs that only serve or work end soon after they were told to stop, whatever a handler has left behind. */
import type { SpawnOptions } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sqlite } from '../../src/sqlite.ts';
import { fixtureArguments } from '../dialects/interop/fixture.ts';
import { fixtureTasks } from '../fixture/server.ts';
import { temporaryFolder, untilEnd } from '../kit/lifetime.ts';
import { Program } from '../kit/process.ts';

const root = join(import.meta.dirname, '../..');
const holdfast = join(root, 'bin/holdfast.js');
const clean = { code: 0, signal: null };

/** Resolves once it has said that it is ready. */
async function started(args: readonly string[], cwd = root): Promise<Program> {
  const options: SpawnOptions = { cwd, stdio: ['ignore', 'pipe', 'inherit'] };
  const program = untilEnd(new Program([process.execPath, ...args], options));
  await program.line();
  return program;
}

test.each(['all', 'worker'])(
  'a fixture with the role %s ends although a step ignores its signal, and its task goes on elsewhere',
  async (role) => {
    const place = temporaryFolder();
    const store = join(place, 'tasks.db');
    const file = join(place, 'begun');
    const tasks = fixtureTasks({ store: sqlite(store) });
    onTestFinished(() => tasks.close());
    const { id } = await tasks.create('stubborn', { seconds: 600, file });
    const words = ['--role', role, '--port', '0', '--store', `sqlite:${store}`];
    const child = await started(fixtureArguments(...words));
    await expect.poll(() => existsSync(file)).toBe(true);
    expect(await child.kill('SIGTERM')).toEqual(clean);
    const task = await tasks.get(id);
    expect(task).toMatchObject({ phase: 'running' });
    expect(task).not.toHaveProperty('worker');
  },
);

/** Holds the process for longer than a test may take, as a handler may that uses no signal. */
const holding = 'data:text/javascript,setTimeout(()=>{},600000)';

test.each([
  ['serve', (store: string) => ['--port', '0', '--store', store]],
  ['worker', (store: string) => ['--store', store]],
  ['demo', () => ['--port', '0']],
] as const)('holdfast %s ends although something holds its process', async (command, options) => {
  const place = temporaryFolder();
  const store = join(place, 'tasks.db');
  await sqlite(store)().then((database) => database.close());
  writeFileSync(join(place, 'holdfast.json'), JSON.stringify({ commands: { true: { command: 'true' } } }));
  const args = ['--import', holding, holdfast, command, ...options(`sqlite:${store}`)];
  const program = await started(args, place);
  expect(await program.kill('SIGTERM')).toEqual(clean);
});
