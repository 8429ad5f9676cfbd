/** A process dies in the middle of a task and another one takes over: the page shows both. */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { untilEnd } from '../../kit/lifetime.ts';
import { Program, sources } from '../../kit/process.ts';
import { linesOf } from '../../kit/text.ts';
import { voyage } from '../../kit/voyage.ts';
import type { Chromium } from './chromium.ts';
import { sharedChromium } from './contexts.ts';
import { startDashboard } from './dashboard.ts';

let chromium: Chromium;
beforeAll(async () => {
  chromium = await sharedChromium();
});

function startWorker(file: string): Program {
  return untilEnd(new Program(sources(join(import.meta.dirname, '../../kit/voyage.ts'), file)));
}

test('the timeline shows a crash and the resume, and no completed step runs again', async () => {
  const dashboard = await startDashboard({ tools: [voyage], works: false });
  const folder = dirname(dashboard.file);
  const input = { log: join(folder, 'log'), gate: join(folder, 'gate') };
  const logged = () => linesOf(input.log);
  const { id } = await dashboard.tasks.create(voyage, input);
  const context = await chromium.context();
  onTestFinished(() => context.close());
  const page = await dashboard.open(context, id);
  await page.getByText('Waiting for a worker').waitFor();

  const doomed = startWorker(dashboard.file);
  await expect.poll(() => logged().at(-1)).toBe('wait for wind');
  await page.getByRole('button', { name: /^Step round the cape, done/ }).waitFor();
  await doomed.kill();
  startWorker(dashboard.file);

  await page.locator('.flag-died', { hasText: 'process died' }).waitFor();
  await page.locator('.flag-resumed', { hasText: 'resumed, 3 steps not repeated' }).waitFor();
  expect(await page.locator('.crashes').innerText()).toMatch(
    /died; its last activity was at .* resumed .* later, 3 steps not repeated\./,
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

  // The table has the same facts in words.
  await page.getByRole('button', { name: 'Table' }).click();
  await page.getByRole('cell', { name: /pass 1: its process died/ }).waitFor();
  await page.getByRole('cell', { name: /pass 2: ended the task, 3 steps not repeated/ }).waitFor();
});
