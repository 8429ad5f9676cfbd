/** What a reader gets out of the page of a task, and how far the keyboard goes. */
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Chromium } from './chromium.ts';
import { sharedChromium } from './contexts.ts';
import { focused } from './in-page.ts';
import { restingStories, stories } from './stories.ts';
import { type Telling, tell } from './telling.ts';

let chromium: Chromium;
let telling: Telling;
beforeAll(async () => {
  telling = await tell([...stories, ...restingStories]);
  chromium = await sharedChromium();
});

test('the first sentence says what is going on', async () => {
  const context = await chromium.context();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const sentences = {
    'task-crashed': 'At step draft chapter 3 for 1 min. It survived a crash.',
    'task-completed': 'Completed in 9 h 41 min.',
    'task-asking': 'Has waited for an answer for 25 min.',
    'task-failed': 'Failed after 1 min 35 s.',
    'task-queued': 'Has waited for a worker for 7 s.',
    'task-lost': 'Lost after 1 h: nobody can say whether its work was done.',
    'task-resting': 'Waits for 1 subtask.',
    'task-sleeping': 'Sleeps; goes on in 1 min.',
    'task-silent': 'Its process has been silent for 40 s longer than it may; another will take over.',
  };
  const found: Record<string, string> = {};
  for (const id of Object.keys(sentences)) {
    await page.goto('about:blank');
    await page.goto(telling.pageOf(id));
    found[id] = await page.locator('.sentence').innerText();
  }
  expect(found).toEqual(sentences);
});

test('the timeline is gone through by keyboard: arrows from row to row, Enter opens, one stop for the tab key', async () => {
  const context = await chromium.context();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(telling.pageOf('task-crashed'));
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

test('whoever follows a link by keyboard arrives at the heading of the next task, and stays there', async () => {
  const context = await chromium.context();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(telling.pageOf('task-hidden'));
  await page.getByRole('link', { name: 'publish_report' }).press('Enter');
  await page.locator('h1', { hasText: 'publish_report' }).waitFor();
  await expect.poll(() => page.evaluate('document.activeElement?.textContent')).toBe('publish_report');
  expect(await page.title()).toBe('publish_report, completed – Holdfast');
});

test('of hundreds of steps few lines are in the page until somebody opens more', async () => {
  const context = await chromium.context();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(telling.pageOf('task-many'));
  const rows = page.locator('.lane');
  await rows.first().waitFor();
  expect(await rows.count()).toBeLessThan(30);
  await page.getByRole('button', { name: /^Step fetch page 212, failed: HTTP 404/ }).waitFor();
  await page
    .getByRole('button', { name: /^100 that went well/ })
    .first()
    .click();
  await page.getByRole('button', { name: /^Step fetch page 42, done/ }).waitFor();
});
