/** Answers a question of a subtask in a real browser: from the overview and the list to its form. */
import { beforeAll, expect, test } from 'vitest';
import { askedBelow } from '../../operator/stage.ts';
import type { Chromium } from './chromium.ts';
import { sharedChromium } from './contexts.ts';
import { rowOf, startDashboard } from './dashboard.ts';

let chromium: Chromium;
beforeAll(async () => {
  chromium = await sharedChromium();
});

test('a question of a subtask appears in the overview, and a click leads to its form', async () => {
  const server = await startDashboard({ works: false });
  const { tasks } = server;
  await tasks.work();
  const context = await chromium.context();
  const [overview, list] = [await context.newPage(), await context.newPage()];
  await overview.goto(server.address());
  await list.goto(server.address('?view=tasks&status=waiting'));
  await overview.getByText('No tasks in the last hour').waitFor();
  await list.getByText('No matching tasks').waitFor();

  const { id } = await tasks.create('delegate');
  const child = await askedBelow(tasks, id);
  await rowOf(list, child).getByText('subtask').waitFor();
  await expect.poll(() => list.locator('.total').innerText()).toBe('1 task');

  const waiting = overview.getByRole('region', { name: 'Waiting for a person' });
  await waiting.getByText('subtask').waitFor();
  await expect
    .poll(() => overview.locator('.figure[data-status="waiting"] .figure-value').innerText())
    .toBe('1');
  await waiting.getByText('approve').click();
  await expect.poll(() => overview.url()).toContain(`?task=${child}`);
  await overview.getByRole('radio', { name: 'Yes' }).check();
  await overview.getByRole('button', { name: 'Send answer' }).click();

  await rowOf(list, child).waitFor({ state: 'detached' });
  expect(await tasks.outcome(id)).toMatchObject({ kind: 'result' });
  await context.close();
});
