/** The dashboard when the server is unreachable or rejects the token. */
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Chromium } from './chromium.ts';
import { sharedChromium } from './contexts.ts';
import { operatorToken, rowOf, startDashboard } from './dashboard.ts';

let chromium: Chromium;
beforeAll(async () => {
  chromium = await sharedChromium();
});

async function stage() {
  const server = await startDashboard({ works: false });
  const context = await chromium.context();
  onTestFinished(() => context.close());
  return { server, page: await context.newPage() };
}

test('the list stays while the server is down, and resumes automatically', async () => {
  const { server, page } = await stage();
  const before = await server.tasks.create('greet', { name: 'before' });
  await page.goto(server.address('?view=tasks'));
  await rowOf(page, before.id).waitFor();

  await server.stop();
  await page.getByText('The server does not answer.').waitFor();
  await page.getByText(/Last contact at \d\d:\d\d:\d\d/).waitFor();
  expect(await page.getByRole('status').filter({ hasText: 'Offline' }).count()).toBe(1);
  expect(await rowOf(page, before.id).isVisible()).toBe(true);

  await server.startAgain();
  // The browser is not connected yet and receives no notification of this one.
  const during = await server.tasks.create('greet', { name: 'during' });
  await rowOf(page, during.id).waitFor();
  await page.getByText('The server does not answer.').waitFor({ state: 'detached' });
  const after = await server.tasks.create('greet', { name: 'after' });
  await rowOf(page, after.id).waitFor();
});

test('the scroll position is kept over a restart', async () => {
  const { server, page } = await stage();
  await Promise.all(
    Array.from({ length: 90 }, (_, name) => server.tasks.create('greet', { name: `${name}` })),
  );
  await page.goto(server.address('?view=tasks'));
  await page.locator('.row-link').first().waitFor();
  await page.evaluate('scrollTo(0, 1200)');
  const inSight = () =>
    page.evaluate(`document.elementFromPoint(300, 500)?.closest('.row-link')?.getAttribute('data-id')`);
  await expect.poll(inSight).toBeTruthy();
  const before = await inSight();

  await server.stop();
  await page.getByText('The server does not answer.').waitFor();
  await server.startAgain();
  await server.tasks.create('greet', { name: 'during' });
  await page.getByRole('button', { name: '1 new task' }).waitFor();
  await page.getByText('The server does not answer.').waitFor({ state: 'detached' });
  expect(await inSight()).toBe(before);
});

test('a page opened while the server is down loads later', async () => {
  const { server, page } = await stage();
  const { id } = await server.tasks.create('greet', { name: 'Ada' });
  await page.goto(server.address());
  await page.getByRole('link', { name: /^Queued/ }).waitFor();
  await server.stop();
  await page.getByText('The server does not answer.').waitFor();
  await page.getByRole('link', { name: 'Tasks', exact: true }).click();
  await page.getByText('This page resumes automatically').waitFor();
  await server.startAgain();
  await rowOf(page, id).waitFor();
});

test('without a token the user is asked for one, and it never appears in the address', async () => {
  const { server, page } = await stage();
  await page.goto(server.address('?view=tasks', { withToken: false }));
  await page.getByText('The server prints it at start').waitFor();

  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Paste the token first.').waitFor();
  await page.getByLabel('Token').fill(operatorToken);
  await page.keyboard.press('Enter');
  await page.getByText('No tasks yet').waitFor();
  expect(page.url()).toBe(server.address('?view=tasks', { withToken: false }));

  await page.reload();
  await page.getByText('No tasks yet').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Token').waitFor();
});

test('a wrong token is reported, in a link and in the field', async () => {
  const { server, page } = await stage();
  await page.goto(`${server.address('', { withToken: false })}#token=wrong`);
  await page.getByText('The server does not accept this token.').waitFor();
  expect(page.url()).not.toContain('wrong');
  // This one cannot be sent in a header.
  await page.getByLabel('Token').fill('gewiß falsch');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The server does not accept this token.').waitFor();
  // The content of the field is not readable, so the next token replaces it.
  await expect.poll(() => page.evaluate('document.activeElement.selectionEnd')).toBe(12);
  await page.keyboard.type(operatorToken);
  await page.keyboard.press('Enter');
  await page.getByText('No tasks in the last hour').waitFor();
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Overview');
});

test('data loaded with one token is not shown for the next', async () => {
  const { server, page } = await stage();
  await server.tasks.create('greet', { name: 'Ada' });
  await page.goto(server.address());
  await page.getByRole('link', { name: 'greet' }).waitFor();
  await server.stop();
  await page.evaluate("location.hash = 'token=another-0123456789abcdef'");
  await page.getByText('This page resumes automatically').waitFor();
  expect(await page.getByRole('link', { name: 'greet' }).count()).toBe(0);
});

test('an invalid token leads back to the sign-in', async () => {
  const { server, page } = await stage();
  await page.goto(server.address());
  await page.getByText('No tasks in the last hour').waitFor();
  await server.stop();
  await server.startAgain('another-0123456789abcdef');
  await page.getByText('The server does not accept this token.').waitFor();
});

test('a browser whose clock is hours ahead shows the same list with the same ages', async () => {
  const { server, page } = await stage();
  const { id } = await server.tasks.create('greet', { name: 'Ada' });
  await page.clock.install({ time: Date.now() + 3 * 3_600_000 });
  await page.goto(server.address('?view=tasks&age=1h'));
  await rowOf(page, id).waitFor();
  await expect.poll(() => rowOf(page, id).innerText()).not.toContain(' h ago');
});

test('with many open tabs the visible one is served, and the others catch up', async () => {
  const { server, page } = await stage();
  const { id } = await server.tasks.create('greet', { name: 'Ada' });
  await page.context().addInitScript(`
    window.isAway = false;
    Object.defineProperty(document, 'hidden', { get: () => window.isAway });
  `);
  const look = (tab: typeof page, isAway: boolean) =>
    tab.evaluate(`window.isAway = ${isAway}; document.dispatchEvent(new Event('visibilitychange'))`);
  let last = page;
  for (let opened = 0; opened < 7; opened++) {
    const tab = opened === 0 ? page : await page.context().newPage();
    await tab.goto(server.address('?view=tasks'));
    await rowOf(tab, id).waitFor();
    await look(tab, true);
    last = tab;
  }
  const during = await server.tasks.create('greet', { name: 'during' });
  await look(page, false);
  await rowOf(page, during.id).waitFor();
  const after = await server.tasks.create('greet', { name: 'after' });
  await rowOf(page, after.id).waitFor();
  expect(await rowOf(last, after.id).count()).toBe(0);
});
