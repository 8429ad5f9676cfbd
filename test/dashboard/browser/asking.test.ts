/** A question that a subtask asks, in a real browser: from the overview, and from the list, to its form. */
import { beforeAll, expect, test } from 'vitest';
import { askedBelow } from '../../operator/stage.ts';
import type { Chromium } from './chromium.ts';
import { sharedChromium } from './contexts.ts';
import { rowOf, startDesk } from './desk.ts';

let chromium: Chromium;
beforeAll(async () => {
  chromium = await sharedChromium();
});

test('while one looks, a subtask asks; the overview shows it, and a click leads to its form', async () => {
  const server = await startDesk({ works: false });
  const { tasks } = server;
  await tasks.work();
  const context = await chromium.context();
  const [overview, list] = [await context.newPage(), await context.newPage()];
  await overview.goto(server.address());
  await list.goto(server.address('?view=tasks&status=waiting'));
  await overview.getByText('No task in the last hour').waitFor();
  await list.getByText('No task matches').waitFor();

  const { id } = await tasks.create('delegate');
  const child = await askedBelow(tasks, id);
  await rowOf(list, child).getByText('subtask').waitFor();
  await expect.poll(() => list.locator('.total').innerText()).toBe('1 task');

  const waiting = overview.getByRole('region', { name: 'Waiting for a person' });
  await waiting.getByText('subtask').waitFor();
  await expect
    .poll(() => overview.locator('.figure[data-standing="waiting"] .figure-value').innerText())
    .toBe('1');
  await waiting.getByText('approve').click();
  await expect.poll(() => overview.url()).toContain(`?task=${child}`);
  await overview.getByRole('radio', { name: 'Yes' }).check();
  await overview.getByRole('button', { name: 'Send answer' }).click();

  await rowOf(list, child).waitFor({ state: 'detached' });
  expect(await tasks.outcome(id)).toMatchObject({ kind: 'result' });
  await context.close();
});
