/** Where the focus is after an action by keyboard: never at the top of the page because a control was removed. */
import { durableTool } from 'holdfast';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { contexts } from './contexts.ts';
import { operatorToken, startDashboard } from './dashboard.ts';

const context = contexts();

/** The focused element: its tag, and its name or text. */
const focusIs = (page: Page) =>
  expect.poll(() =>
    page.evaluate(`(() => {
      const { tagName, textContent, ariaLabel } = document.activeElement;
      return tagName + ' ' + (ariaLabel ?? textContent);
    })()`),
  );

const twice = durableTool('twice', {}, async (_, task) => {
  for (const key of ['first', 'second'])
    await task.ask(key, { message: `The ${key} word?`, schema: z.object({ word: z.string() }) });
});

test('an answer moves the focus to the questions, and a cancellation to the heading of the task', async () => {
  const { tasks, open } = await startDashboard({ tools: [twice] });
  const { id } = await tasks.create(twice);
  const page = await open(await context(), id);
  await page.getByLabel('word').fill('tide');
  await page.keyboard.press('Enter');
  await page.getByText('The second word?').waitFor();
  // Between two questions that part of the page may disappear with its heading.
  await focusIs(page).toMatch(/^(H2 Waiting for an answer|H1 twice)$/);

  const cancel = page.getByRole('button', { name: 'Cancel', exact: true });
  await cancel.focus();
  await page.keyboard.press('Enter');
  await focusIs(page).toBe('BUTTON Keep it');
  await page.keyboard.press('Enter');
  await focusIs(page).toBe('BUTTON Cancel');
  await page.keyboard.press('Enter');
  await focusIs(page).toBe('BUTTON Keep it');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByText(/^Cancelled after/).waitFor();
  await focusIs(page).toBe('H1 twice');
});

test('a confirmation can be opened again right after it was closed', async () => {
  const { tasks, open } = await startDashboard({ tools: [twice] });
  const { id } = await tasks.create(twice);
  const page = await open(await context(), id);
  const cancel = page.getByRole('button', { name: 'Cancel', exact: true });
  await cancel.click();
  await page.getByRole('button', { name: 'Keep it' }).waitFor();
  // In one turn of the event loop, as two quick key presses may be.
  await page.evaluate(`(async () => {
    const named = (name) => [...document.querySelectorAll('button')].find((one) => one.textContent === name);
    named('Keep it').click();
    await new Promise(queueMicrotask);
    named('Cancel').click();
  })()`);
  await focusIs(page).toBe('BUTTON Keep it');
});

test('a filter field keeps the focus, and clearing the filters moves it to the heading', async () => {
  const { tasks, dashboard } = await startDashboard({ tools: [twice] });
  await tasks.create(twice, undefined, { owner: 'ann' });
  const page = await (await context()).newPage();
  await page.goto(`${dashboard}?view=tasks#token=${operatorToken}`);
  await page.locator('.row-link').waitFor();
  const owner = page.getByLabel('Owner', { exact: true });
  await owner.fill('ann');
  await page.keyboard.press('Enter');
  const clear = page.getByRole('button', { name: 'Clear' });
  await clear.waitFor();
  await focusIs(page).toBe('INPUT Owner');
  expect(page.url()).toContain('owner=ann');

  await clear.focus();
  await page.keyboard.press('Enter');
  await clear.waitFor({ state: 'detached' });
  await focusIs(page).toBe('H1 Tasks');
  await expect.poll(() => owner.inputValue()).toBe('');
});

test('a button keeps the focus if its action fails', async () => {
  const { tasks, open, stop } = await startDashboard({ tools: [twice] });
  const { id } = await tasks.create(twice);
  const page = await open(await context(), id);
  await page.getByText('The first word?').waitFor();
  await stop();
  await page.getByRole('button', { name: 'Decline' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('.form-error').waitFor();
  await focusIs(page).toBe('BUTTON Decline');
});
