/** Checks the page of a task in all its states with axe-core, on a desktop and a phone, light and dark. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Chromium, looks } from './chromium.ts';
import { sharedChromium } from './contexts.ts';
import { examples } from './examples.ts';
import { type FixedServer, serveDetails } from './fixed-server.ts';
import { goTo, overflow } from './in-page.ts';

let chromium: Chromium;
let server: FixedServer;
beforeAll(async () => {
  server = await serveDetails(examples);
  chromium = await sharedChromium();
});

/** What a user does before the check. */
const actions: Readonly<Record<string, (page: Page) => Promise<void>>> = {
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

/** Pages that never show a task, with the element that they show instead. */
const blank: Readonly<Record<string, string>> = {
  'task-unknown': '.state',
  'task-broken': '.state',
  'task-slow': '.loading',
};
const everyState = [...examples.map(({ task }) => task.id), ...Object.keys(blank)];
const mainStates = Object.keys(actions);

/** All states on each screen and in each colour, and the main ones in every combination. */
const rounds = looks.map((look) => {
  const isWhole = (look.screen === 'desktop') === (look.colours === 'light');
  return { ...look, ids: isWhole ? everyState : mainStates };
});

async function complaints(page: Page): Promise<string[]> {
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
    await page.goto(server.pageOf(ids[0]!));
    await page.evaluate(axe.source);
    for (const id of ids) {
      await page.evaluate(goTo(id));
      await page.locator(blank[id] ?? `.trail:has-text("${id}")`).waitFor();
      await actions[id]?.(page);
      found[id] = await complaints(page);
      const excess = await page.evaluate<number>(overflow);
      if (excess > 0) found[id].push(`wider than the screen by ${excess}px`);
    }
    expect(found).toEqual(Object.fromEntries(ids.map((id) => [id, []])));
  });
});

test('on a phone the words of a table stay whole', async () => {
  const context = await chromium.context({ screen: 'phone' });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(server.pageOf('task-completed'));
  await actions['task-completed']!(page);
  // Four events and an entry of the audit log.
  await expect.poll(() => page.locator('.drawer tbody th').count()).toBe(5);
  const broken = await page.evaluate(`[...document.querySelectorAll('.drawer tbody th')]
    .filter((cell) => {
      const text = document.createRange();
      text.selectNodeContents(cell);
      return new Set([...text.getClientRects()].map(({ top }) => top)).size > 1;
    })
    .map((cell) => cell.textContent)`);
  expect(broken).toEqual([]);
});
