/**
 * An open store keeps no process alive, nor does what it does in the background. But whoever waits for something, for
 * its closing too, is not left waiting by a process that ends for want of anything else to do.
 */
import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createTasks } from 'holdfast';
import { expect, test } from 'vitest';
import { create } from '../../src/engine/rules/transitions.ts';
import { aTask } from '../../src/store-testing.ts';
import { encryption } from '../encryption/keys.ts';
import { untilEnd } from '../kit/lifetime.ts';
import { Program, sources } from '../kit/process.ts';
import { withCode } from '../kit/with-code.ts';
import { type Kind, kinds, open } from './kinds.ts';
import { wave } from './waiting-life.ts';

/** Of which every value is still to be written anew, because there is a younger key. */
async function placeWithWork(kind: Kind): Promise<string> {
  const place = await kind.place();
  const { store, close } = await open(place, { encryption: encryption('first') });
  await Promise.all(
    Array.from({ length: 400 }, () => store.create(undefined, () => create(undefined, aTask(), Date.now()))),
  );
  await close();
  return place;
}

const script = (name: string) => new URL(name, import.meta.url).pathname;

test.each(
  kinds.flatMap((kind) =>
    (['close', 'rekey', 'leave'] as const).map((how) => ({ kind, how, on: kind.name })),
  ),
)('a process with nothing else to do comes to its own end on $on ($how)', async ({ kind, how }) => {
  const args = ['--conditions=holdfast-source', script('./short-life.ts'), await placeWithWork(kind), how];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 100_000 });
  expect(stderr).toBe('');
  expect(stdout).toBe('done\n');
});

test.each(kinds)(
  'a process that only waits for the outcome of a task is there when it comes, on $name',
  async (kind) => {
    const place = await kind.place();
    await using tasks = createTasks({ tools: [wave], store: () => open(place) });
    await tasks.opened();
    const waiting = untilEnd(
      new Program(sources(script('./waiting-life.ts'), place), { stdio: ['ignore', 'pipe', 'inherit'] }),
    );
    const id = await waiting.line();
    // It has nothing to do by now, and would be gone.
    await Promise.race([waiting.exit, pause(1_000)]);
    await tasks.work();
    expect((await tasks.outcome(id)).kind).toBe('result');
    expect(await waiting.exit).toEqual({ code: 0, signal: null });
    expect(waiting.output).toBe(`${id}\nresult\n`);
  },
);

test.each(kinds)('whoever waits for an outcome is told when the tasks are closed, on $name', async (kind) => {
  const place = await kind.place();
  const tasks = createTasks({ tools: [wave], store: () => open(place) });
  const { id } = await tasks.create(wave, {});
  const outcome = expect(tasks.outcome(id)).rejects.toThrow(withCode('STORE_CLOSED'));
  // It has looked, and waits.
  await tasks.get(id);
  await tasks.close();
  await outcome;
});

test('a process whose runTool failed comes to its own end', async () => {
  const args = ['--conditions=holdfast-source', script('./failed-run.ts')];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 100_000 });
  expect(stdout).toBe('NOTHING_LEFT_TO_WAIT_FOR\n');
});
