/** The texts on the page of a task, and its use by keyboard. */
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Chromium } from './chromium.ts';
import { sharedChromium } from './contexts.ts';
import { examples, restingExamples } from './examples.ts';
import { type FixedServer, serveDetails } from './fixed-server.ts';
import { focused } from './in-page.ts';

let chromium: Chromium;
let server: FixedServer;
beforeAll(async () => {
  server = await serveDetails([...examples, ...restingExamples]);
  chromium = await sharedChromium();
});

test('the headline describes the current activity or the outcome', async () => {
  const context = await chromium.context();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const sentences = {
    'task-crashed': 'Running step draft chapter 3 for 1 min. It survived a crash.',
    'task-completed': 'Completed in 9 h 41 min.',
    'task-asking': 'Waiting for an answer for 25 min.',
    'task-failed': 'Failed after 1 min 35 s.',
    'task-queued': 'Waiting for a worker for 7 s.',
    'task-lost': 'Lost after 1 h: it is unknown whether its work was done.',
    'task-resting': 'Waiting for 1 subtask.',
    'task-sleeping': 'Sleeping; resumes in 1 min.',
    'task-silent': 'The lease of its worker expired 40 s ago; another worker will take over.',
  };
  const found: Record<string, string> = {};
  for (const id of Object.keys(sentences)) {
    await page.goto('about:blank');
    await page.goto(server.pageOf(id));
    found[id] = await page.locator('.sentence').innerText();
  }
  expect(found).toEqual(sentences);
});

test('the timeline works by keyboard: arrows move between rows, Enter opens one, Tab stops once', async () => {
  const context = await chromium.context();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(server.pageOf('task-crashed'));
  const rows = page.locator('.lane-name');
  await rows.first().focus();
  expect(await page.locator('.lane-name[tabindex="0"]').count()).toBe(1);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  expect(await page.evaluate(focused)).toMatch(/^Step fetch the almanac/);
  await page.locator('.tip').waitFor();
  await page.keyboard.press('Enter');
  await page.locator('.lane-details', { hasText: 'HTTP 503: the tide office is closed' }).waitFor();
  await page.keyboard.press('Enter');
  await page.locator('.lane-details').waitFor({ state: 'detached' });
  await page.keyboard.press('End');
  expect(await page.evaluate(focused)).toMatch(/^Step draft chapter 3/);
});

test('a link followed by keyboard moves the focus to the heading of the next task, where it stays', async () => {
  const context = await chromium.context();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(server.pageOf('task-hidden'));
  await page.getByRole('link', { name: 'publish_report' }).press('Enter');
  await page.locator('h1', { hasText: 'publish_report' }).waitFor();
  await expect.poll(() => page.evaluate('document.activeElement?.textContent')).toBe('publish_report');
  expect(await page.title()).toBe('publish_report, completed – Holdfast');
});

test('hundreds of steps are folded into a few lines until the user opens them', async () => {
  const context = await chromium.context();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(server.pageOf('task-many'));
  const rows = page.locator('.lane');
  await rows.first().waitFor();
  expect(await rows.count()).toBeLessThan(30);
  await page.getByRole('button', { name: /^Step fetch page 212, failed: HTTP 404/ }).waitFor();
  await page
    .getByRole('button', { name: /^100 succeeded/ })
    .first()
    .click();
  await page.getByRole('button', { name: /^Step fetch page 42, done/ }).waitFor();
});
