/** Accessibility of the overview, list and sign-in on every screen and in both colours. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import { durableTool } from 'holdfast';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../kit/until.ts';
import { type Chromium, looks } from './chromium.ts';
import { sharedChromium } from './contexts.ts';
import { type Dashboard, operatorToken, startDashboard } from './dashboard.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let chromium: Chromium;
let server: Dashboard;
beforeAll(async () => {
  [chromium, server] = await Promise.all([sharedChromium(), startDashboard({ works: false })]);
  const { tasks } = server;
  await tasks.work();
  const created = await Promise.all([
    ...['Ada', 'Grace', 'Lin'].map((name) => tasks.create('greet', { name }, { owner: name })),
    ...['1', '2'].map((owner) => tasks.create('break', {}, { owner })),
  ]);
  await Promise.all(created.map(({ id }) => tasks.outcome(id)));
  const { id } = await tasks.create('approve', {}, { owner: 'somebody-with-a-rather-long-name@example.com' });
  const { id: root } = await tasks.create('delegate');
  await tasks.create('sleep');
  await tasks.cancel((await tasks.create('sleep')).id, 'Not wanted.');
  const { store } = await tasks.opened();
  for (const waiting of [async () => id, async () => (await store.childIds(root))[0] ?? ''])
    await until(async () => (await tasks.get(await waiting()))?.phase === 'waiting');
});

const pages = {
  'the overview': {
    query: '',
    ready: (page: Page) => page.getByRole('heading', { name: 'Tools' }).waitFor(),
  },
  'the list': { query: '?view=tasks', ready: (page: Page) => page.locator('.row-link').first().waitFor() },
  'the list of waiting tasks': {
    query: '?view=tasks&status=waiting',
    ready: (page: Page) => page.locator('.kind-sign').waitFor(),
  },
  'a list without tasks': {
    query: '?view=tasks&text=nothing-like-this&age=7d',
    ready: (page: Page) => page.getByText('No matching tasks').waitFor(),
  },
};

describe.each(looks)('$screen, $colours', (look) => {
  test.each(Object.entries(pages))('%s has no serious issue', async (_, { query, ready }) => {
    const context = await chromium.context(look);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(String(error)));
    const hosts = new Set<string>();
    page.on('request', (request) => hosts.add(new URL(request.url()).host));

    await page.goto(server.address(query));
    await ready(page);
    expect(await serious(page)).toEqual([]);
    // Nothing is wider than the screen.
    expect(
      await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
    ).toBeLessThanOrEqual(0);
    expect(complaints).toEqual([]);
    expect([...hosts]).toEqual([new URL(server.address()).host]);
    await context.close();
  });

  test('the sign-in has no serious issue', async () => {
    const context = await chromium.context(look);
    const page = await context.newPage();
    await page.goto(server.address('', { withToken: false }));
    await page.getByLabel('Token').waitFor();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Paste the token first.').waitFor();
    expect(await serious(page)).toEqual([]);
    await context.close();
  });
});

test('a very long tool name leaves the numbers next to it in sight', async () => {
  const long = durableTool('name_'.repeat(25), {}, async () => 'Done.');
  const { tasks, dashboard } = await startDashboard({ tools: [long] });
  await tasks.outcome((await tasks.create(long)).id);
  const context = await chromium.context();
  const page = await context.newPage();
  await page.goto(`${dashboard}#token=${operatorToken}`);
  await page.getByRole('link', { name: long.name }).waitFor();
  const wider = await page.evaluate(`(() => {
    const { scrollWidth, clientWidth } = document.querySelector('.tool-card .table-scroll');
    return scrollWidth - clientWidth;
  })()`);
  expect(wider).toBe(0);
  await context.close();
});

test('colours can be chosen, and the choice is stored', async () => {
  const context = await chromium.context({ colours: 'light' });
  const page = await context.newPage();
  await page.goto(server.address());
  const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
  const light = await background();
  await page.getByRole('button', { name: /Colours: system/ }).click();
  await page.getByRole('button', { name: /Colours: light/ }).click();
  await page.getByRole('button', { name: /Colours: dark/ }).waitFor();
  const dark = await background();
  expect(dark).not.toBe(light);
  await page.reload();
  await page.getByRole('button', { name: /Colours: dark/ }).waitFor();
  expect(await background()).toBe(dark);
  await context.close();
});

/** The serious and critical issues that axe finds. */
async function serious(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
}
