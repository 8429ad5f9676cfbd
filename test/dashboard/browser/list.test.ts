/** The list of tasks in a real browser, on a real server. */
import { beforeAll, expect, test } from 'vitest';
import type { Chromium } from './chromium.ts';
import { sharedChromium } from './contexts.ts';
import { type Dashboard, rowOf, startDashboard } from './dashboard.ts';

let chromium: Chromium;
beforeAll(async () => {
  chromium = await sharedChromium();
});

/** Opens a page of a new server in a browser. */
async function opened(query: string, prepare: (server: Dashboard) => Promise<unknown> = async () => {}) {
  const server = await startDashboard({ works: false });
  await prepare(server);
  const context = await chromium.context();
  const page = await context.newPage();
  await page.goto(server.address(query));
  return { server, page, [Symbol.asyncDispose]: () => context.close() };
}

/** Creates tasks that no worker takes. */
async function createMany(server: Dashboard, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, name) => server.tasks.create('greet', { name: `${name}` })),
  );
}

test('a task appears while the list is open, and its row is updated in place', async () => {
  await using stage = await opened('?view=tasks');
  const { server, page } = stage;
  await page.getByText('No tasks yet').waitFor();
  await server.tasks.work();

  const { id } = await server.tasks.create('approve');
  await rowOf(page, id).getByText('waiting').waitFor();
  await server.tasks.cancel(id, 'Nobody was there.');
  await rowOf(page, id).getByText('cancelled').waitFor();
  await rowOf(page, id).getByText('Nobody was there.').waitFor();

  const next = await server.tasks.create('sleep');
  await rowOf(page, next.id).waitFor();
  const ids = await page
    .locator('.row-link')
    .evaluateAll((links) => links.map((link) => link.getAttribute('data-id')));
  expect(ids).toEqual([next.id, id]);
});

test('a plain call is marked as one until it is handed over, in the list and on its page', async () => {
  await using stage = await opened('?view=tasks');
  const { server, page } = stage;
  await server.tasks.work();
  const { id } = await server.tasks.create('approve', {}, { unpublished: true });
  await rowOf(page, id).getByText('plain call').waitFor();
  await rowOf(page, id).click();
  await page.locator('.task-head').getByText('plain call').waitFor();
  await (await server.tasks.requests()).publish(id);
  await page.locator('.task-head').getByText('plain call').waitFor({ state: 'detached' });
});

test('filters are in the address, which shows the same list elsewhere', async () => {
  await using stage = await opened('?view=tasks', async ({ tasks }) => {
    await tasks.work();
    for (const name of ['a', 'b']) await tasks.outcome((await tasks.create('greet', { name })).id);
    for (let index = 0; index < 3; index++) await tasks.outcome((await tasks.create('break')).id);
  });
  const { server, page } = stage;
  await expect.poll(() => page.locator('.row-link').count()).toBe(5);

  await page.getByRole('button', { name: 'failed' }).click();
  await expect.poll(() => page.locator('.row-link').count()).toBe(3);
  await page.getByRole('combobox', { name: 'Age' }).selectOption('1h');
  await page.getByRole('combobox', { name: 'Tool' }).selectOption('break');
  const address = page.url();
  expect(address).toContain('?view=tasks&status=failed&tool=break&age=1h');
  expect(address).not.toContain('token');

  const elsewhere = await (await chromium.context()).newPage();
  await elsewhere.goto(server.address(new URL(address).search));
  await expect.poll(() => elsewhere.locator('.row-link').count()).toBe(3);
  expect(elsewhere.url()).toBe(address);
  expect(await elsewhere.getByRole('button', { name: 'failed' }).getAttribute('aria-pressed')).toBe('true');
  await expect.poll(() => elsewhere.locator('.total').innerText()).toBe('3 tasks');

  // New matches appear, other tasks do not.
  await server.tasks.create('greet', { name: 'c' });
  const { id } = await server.tasks.create('break');
  await rowOf(elsewhere, id).waitFor();
  expect(await elsewhere.locator('.row-link').count()).toBe(4);
  await elsewhere.context().close();
});

test('keys move between rows, open a task, search and show the help', async () => {
  await using stage = await opened('?view=tasks', (server) => createMany(server, 60));
  const { page } = stage;
  await page.locator('.row-link').first().waitFor();
  const focused = () =>
    page.evaluate(`document.activeElement.closest('.row')?.getAttribute('aria-posinset')`);

  await page.keyboard.press('j');
  await expect.poll(focused).toBe('1');
  await page.keyboard.press('ArrowDown');
  await expect.poll(focused).toBe('2');
  await page.keyboard.press('End');
  await expect.poll(focused).toBe('60');
  await page.keyboard.press('k');
  await expect.poll(focused).toBe('59');
  const id = await page.evaluate<string>(`document.activeElement.getAttribute('data-id')`);
  await page.keyboard.press('Enter');
  await expect.poll(() => page.url()).toContain(`?task=${id}`);
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1');
  await page.goBack();
  await rowOf(page, id).waitFor();

  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await page.keyboard.type(id);
  await expect.poll(() => page.locator('.row-link').count()).toBe(1);
  expect(page.url()).toContain(`text=${id}`);
});

test('nothing moves while the user reads further down', async () => {
  await using stage = await opened('?view=tasks', (server) => createMany(server, 90));
  const { server, page } = stage;
  await page.locator('.row-link').first().waitFor();
  await page.evaluate('scrollTo(0, 1200)');
  const inSight = () =>
    page.evaluate(`document.elementFromPoint(300, 400)?.closest('.row-link')?.getAttribute('data-id')`);
  await expect.poll(inSight).toBeTruthy();
  const before = await inSight();

  const { id } = await server.tasks.create('greet', { name: 'new' });
  const newTasks = page.getByRole('button', { name: '1 new task' });
  await newTasks.waitFor();
  expect(await inSight()).toBe(before);
  await newTasks.click();
  await rowOf(page, id).waitFor();
  expect(await page.evaluate('scrollY')).toBe(0);
});

test('scrolling loads pages, and only visible rows exist', async () => {
  await using stage = await opened('?view=tasks', (server) => createMany(server, 1_200));
  const { page } = stage;
  await page.locator('.row-link').first().waitFor();
  await expect.poll(() => page.locator('.total').innerText()).toBe('1,200 tasks');
  await expect
    .poll(async () => {
      await page.evaluate('scrollTo(0, document.body.scrollHeight)');
      return page.locator('.list-foot').innerText();
    })
    .toBe('End of list.');
  await page.evaluate('scrollTo(0, document.body.scrollHeight)');
  await page.locator('.row[aria-posinset="1200"]').waitFor();
  expect(await page.locator('.row').count()).toBeLessThan(80);
});
