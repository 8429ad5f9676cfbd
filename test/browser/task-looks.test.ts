/** The page of a task in all of its states, judged by axe-core on a desktop and a phone, in the light and in the dark. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Chromium, looks, startChromium } from './chromium.ts';
import { focused, overflow } from './in-page.ts';
import { stories } from './stories.ts';
import { type Telling, tell } from './telling.ts';

// A machine that does several things at once is slow, not wrong.
vi.setConfig({ testTimeout: 120_000 });

let chromium: Chromium;
let telling: Telling;
const closing: (() => void)[] = [];
beforeAll(async () => {
  telling = await tell(stories, (close) => closing.push(close));
  chromium = await startChromium();
});
afterAll(async () => {
  await chromium.close();
  for (const close of closing) close();
});

/** What a reader does before looking. */
const deeds: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  'task-crashed': async (page) => {
    await page.getByRole('button', { name: /^Step fetch the almanac/ }).click();
    await page.getByRole('button', { name: /^Process harbour-7/ }).focus();
  },
  'task-completed': async (page) => {
    await page.getByRole('button', { name: 'Table' }).click();
    for (const summary of await page.locator('.drawer > summary').all()) await summary.click();
  },
  'task-asking': async (page) => {
    await page.getByRole('button', { name: 'Send answer' }).click();
    await page.locator('.form-problems').waitFor();
  },
  'task-failed': async (page) => {
    await page.getByRole('button', { name: 'Purge' }).click();
    await page.getByRole('dialog').waitFor();
  },
};

const everyState = [...stories.map(({ task }) => task.id), 'task-unknown', 'task-broken', 'task-slow'];
const mainStates = Object.keys(deeds);

/** All states on each screen and in each colour, and the main ones in every combination. */
const rounds = looks.map((look) => {
  const isWhole = (look.screen === 'desktop') === (look.colours === 'light');
  return { ...look, ids: isWhole ? everyState : mainStates };
});

async function complaints(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run({ resultTypes: ['violations'] })`);
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
}

describe.each(rounds)('on a $screen in the $colours', ({ ids, ...look }) => {
  test('no state has a serious or critical issue, and nothing is wider than the screen', async () => {
    const context = await chromium.context(look);
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const found: Record<string, string[]> = {};
    for (const id of ids) {
      await page.goto('about:blank');
      await page.goto(telling.pageOf(id));
      await page.locator('.task-head, .state, .loading').first().waitFor();
      await deeds[id]?.(page);
      found[id] = await complaints(page);
      const excess = await page.evaluate<number>(overflow);
      if (excess > 0) found[id].push(`wider than the screen by ${excess}px`);
    }
    expect(found).toEqual(Object.fromEntries(ids.map((id) => [id, []])));
  });
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
