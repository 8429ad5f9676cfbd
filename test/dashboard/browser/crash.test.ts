/** A process dies in the middle of a task and another goes on: whoever looks at the page sees both. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Chromium } from './chromium.ts';
import { sharedChromium } from './contexts.ts';
import { startDesk } from './desk.ts';
import { voyage } from './voyage.ts';

let chromium: Chromium;
beforeAll(async () => {
  chromium = await sharedChromium();
});

function startWorker(file: string): ChildProcess {
  const program = join(import.meta.dirname, 'voyage.ts');
  const worker = spawn(process.execPath, ['--conditions=holdfast-source', program, file], {
    stdio: 'inherit',
  });
  onTestFinished(() => void worker.kill('SIGKILL'));
  return worker;
}

test('a crash and its resume show on the timeline, and no step that was done is done again', async () => {
  const desk = await startDesk({ tools: [voyage], works: false });
  const folder = dirname(desk.file);
  const input = { log: join(folder, 'log'), gate: join(folder, 'gate') };
  const logged = () => (existsSync(input.log) ? readFileSync(input.log, 'utf8').trim().split('\n') : []);
  const { id } = await desk.tasks.create(voyage, input);
  const context = await chromium.context();
  onTestFinished(() => context.close());
  const page = await desk.open(context, id);
  await page.getByText('Has waited for a worker').waitFor();

  const doomed = startWorker(desk.file);
  await expect.poll(() => logged().at(-1)).toBe('wait for wind');
  await page.getByRole('button', { name: /^Step round the cape, done/ }).waitFor();
  doomed.kill('SIGKILL');
  startWorker(desk.file);

  await page.locator('.flag-died', { hasText: 'process died' }).waitFor();
  await page.locator('.flag-resumed', { hasText: 'resumed, 3 steps not repeated' }).waitFor();
  expect(await page.locator('.crashes').innerText()).toMatch(
    /died; it was last heard of at .* resumed .* later, 3 steps not repeated\./,
  );
  expect(await page.locator('.lane[data-kind="process"]').count()).toBe(2);
  expect(await page.locator('.bar-torn').count()).toBeGreaterThan(0);

  writeFileSync(input.gate, '');
  await page.getByText('Arrived.').waitFor();
  await page.getByText('It survived a crash.').waitFor();
  await page.getByRole('button', { name: /^Step moor, done/ }).waitFor();
  expect(logged()).toEqual([
    'cast off',
    'set sail',
    'round the cape',
    'wait for wind',
    'wait for wind',
    'moor',
  ]);

  // The same in words, for those who do not see the drawing.
  await page.getByRole('button', { name: 'Table' }).click();
  await page.getByRole('cell', { name: /pass 1: its process died/ }).waitFor();
  await page.getByRole('cell', { name: /pass 2: ended the task, 3 steps not repeated/ }).waitFor();
});
