/** Questions of every kind and large values on the page of a task. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { durableTool } from 'holdfast';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { contexts } from './contexts.ts';
import { startDashboard } from './dashboard.ts';

const context = contexts();

const signIn = durableTool(
  'sign_in',
  { inputSchema: z.object({ url: z.string() }) },
  async ({ url }, task) => {
    const { action } = await task.ask('account', { message: 'The printer wants you to sign in.', url });
    return `It was ${action}ed.`;
  },
);

/** A site to sign in to, and its visits. */
async function printer(): Promise<{
  host: string;
  url: string;
  visits: { url: string; referer?: string }[];
}> {
  const visits: { url: string; referer?: string }[] = [];
  const server = createServer(({ url, headers: { referer } }, res) => {
    if (url !== '/favicon.ico') visits.push({ url: url!, ...(referer !== undefined && { referer }) });
    res.end('Welcome.');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { host, url: `http://${host}/authorise?state=7f3a`, visits };
}

test('a question with a URL shows it, opens it only on a click, and is answered with "Done"', async () => {
  const { tasks, open } = await startDashboard({ tools: [signIn] });
  const { host, url, visits } = await printer();
  const { id } = await tasks.create(signIn, { url });
  const page = await open(await context(), id);
  const link = page.getByRole('link', { name: `Open ${host}` });
  await link.waitFor();
  await page.locator('.address-full', { hasText: url }).waitFor();
  expect(await link.getAttribute('rel')).toBe('noopener noreferrer nofollow');
  expect(visits).toEqual([]);
  await link.click();
  await expect.poll(() => visits).toEqual([{ url: '/authorise?state=7f3a' }]);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByText('It was accepted.').waitFor();
});

const shorten = durableTool('shorten', {}, async (_, task) => {
  const { content } = await task.ask('model', {
    sampling: {
      maxTokens: 100,
      messages: [{ role: 'user', content: { type: 'text', text: 'Say it in one sentence.' } }],
    },
  });
  const { roots } = await task.ask('folders', { roots: true });
  return `${(content as { text: string }).text} Kept in ${roots[0]!.uri}.`;
});

test('sampling and roots questions are shown, and answered as JSON', async () => {
  const { tasks, open } = await startDashboard({ tools: [shorten] });
  const { id } = await tasks.create(shorten);
  const page = await open(await context(), id);
  await page.getByText('Say it in one sentence.').waitFor();
  const answer = page.getByLabel('Answer, as JSON');
  const send = page.getByRole('button', { name: 'Send answer' });

  await answer.fill('{ "role": "assistant"');
  await send.click();
  await page.getByText('This is not JSON: check quotes and commas.').waitFor();
  await answer.fill('{ "role": "assistant", "content": { "type": "text", "text": "Tides rise." } }');
  await send.click();
  await page.getByText('The answer does not fit: "model" must be a string.').waitFor();
  await answer.fill(
    '{ "role": "assistant", "model": "me", "content": { "type": "text", "text": "Tides rise." } }',
  );
  await send.click();

  await page.getByText('Which folders may the tool work in?').waitFor();
  await answer.fill('{ "roots": [{ "uri": "file:///reports" }] }');
  await send.click();
  await page.getByText('Tides rise. Kept in file:///reports.').waitFor();
});

const long = durableTool(
  'long',
  {},
  async () => `The first line.\n${'a line\n'.repeat(20_000)}The last line.`,
);

test('a large result is loaded on request', async () => {
  const { tasks, open } = await startDashboard({ tools: [long] });
  const { id } = await tasks.create(long);
  const page = await open(await context(), id);
  await page.getByText('The result is large and has not been loaded.').waitFor();
  await page.getByRole('button', { name: 'Show all', exact: true }).click();
  await page.getByText('The first line.').waitFor();
  expect(await page.getByText('The last line.').count()).toBe(0);
  await page.getByRole('button', { name: /^Show all 140,0\d\d characters/ }).click();
  await page.getByText('The last line.').waitFor();
});
