/** The actions of an operator on the page of a task, in a real browser with a real server. */
import { durableTool, TerminalError } from 'holdfast';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { contexts } from './contexts.ts';
import { startDashboard } from './dashboard.ts';

const context = contexts();

const badge = (page: Page) => page.locator('.title-line .badge');

const order = durableTool('print', { description: 'Asks how to print.' }, async (_, task) => {
  const answer = await task.ask('order', {
    message: 'How should it be printed?',
    schema: z.object({
      title: z.string().min(3),
      copies: z.number().int().min(1).max(500),
      colour: z.boolean(),
      paper: z.enum(['plain', 'fine']),
      remark: z.string().optional(),
    }),
  });
  return answer.action === 'accept' ? JSON.stringify(answer.content) : `It was ${answer.action}.`;
});

test('a question is answered in place: problems are shown at their fields, and the task continues', async () => {
  const { tasks, open } = await startDashboard({ tools: [order] });
  const { id } = await tasks.create(order);
  const page = await open(await context(), id);
  await page.getByRole('button', { name: 'Send answer' }).click();
  await page.getByText('4 fields need to be corrected').waitFor();

  await page.getByLabel('title').fill('Ti');
  await page.getByLabel('copies').fill('many');
  await page.getByRole('radio', { name: 'Yes' }).check();
  await page.getByRole('radio', { name: 'fine' }).check();
  await page.getByText('2 fields need to be corrected').waitFor();
  await page.locator('.form-field-problem', { hasText: 'This must have at least 3 characters.' }).waitFor();
  await page.locator('.form-field-problem', { hasText: 'This is not a number.' }).waitFor();

  await page.getByLabel('title').fill('Tides');
  await page.getByLabel('copies').fill('20');
  await page.getByRole('button', { name: 'Send answer' }).click();
  await expect.poll(() => badge(page).innerText()).toBe('completed');
  const result = page.getByRole('region', { name: 'Result' });
  await result.getByText('Tides').waitFor();
  expect(await result.innerText()).toMatch(/copies\s+20[\s\S]*colour\s+true[\s\S]*paper\s+fine/);
  await page.getByText('Accepted').waitFor();
});

test('our own answer is not reported as somebody else’s, even if its change arrives first', async () => {
  const { tasks, open } = await startDashboard({ tools: [order] });
  const { id } = await tasks.create(order);
  const page = await open(await context(), id);
  // The server has answered, but its response is delayed.
  const arrives = Promise.withResolvers<void>();
  await page.route('**/answer', async (route) => {
    const response = await route.fetch();
    await arrives.promise;
    await route.fulfill({ response });
  });
  await page.getByRole('button', { name: 'Decline' }).click();
  await page.locator('.turn[data-state="answered"]').waitFor();
  expect(await page.getByText('Somebody else').count()).toBe(0);
  arrives.resolve();
  await page.unrouteAll({ behavior: 'wait' });
  await page.getByText('Declined').waitFor();
  expect(await page.getByText('Somebody else').count()).toBe(0);
});

test('a question can be declined', async () => {
  const { tasks, open } = await startDashboard({ tools: [order] });
  const { id } = await tasks.create(order);
  const page = await open(await context(), id);
  await page.getByRole('button', { name: 'Decline' }).click();
  await page.getByText('It was decline.').waitFor();
});

const twoQuestions = durableTool('interview', {}, async (_, task) => {
  const schema = z.object({ name: z.string() });
  await Promise.all([
    task.ask('first', { message: 'Who is the first?', schema }),
    task.ask('second', { message: 'Who is the second?', schema }),
  ]);
  return 'Thank you.';
});

test('typed input survives changes, and an answer by somebody else is reported', async () => {
  const { tasks, open, act, story } = await startDashboard({ tools: [twoQuestions] });
  const { id } = await tasks.create(twoQuestions);
  await expect.poll(async () => (await story(id)).questions.length).toBe(2);
  const page = await open(await context(), id);
  const [first, second] = [page.locator('.turn').nth(0), page.locator('.turn').nth(1)];
  await second.getByLabel('name').fill('Grace');
  await page.getByRole('button', { name: /^Question second/ }).click();
  const answered = await act(id, 'answer', {
    key: 'first',
    response: { action: 'accept', content: { name: 'Ada' } },
  });
  expect(answered.status).toBe(200);
  await first.getByText('Somebody else answered this.').waitFor();
  expect(await second.getByLabel('name').inputValue()).toBe('Grace');
  expect(await page.locator('.lane-details').count()).toBe(1);
  await second.getByRole('button', { name: 'Send answer' }).click();
  await page.getByText('Thank you.').waitFor();
});

const leaf = durableTool('leaf', {}, async (_, task) => {
  await task.waitForEvent('never');
});
const branch = durableTool('branch', {}, async (_, task) => {
  await (await task.start(leaf)).result();
});
const tree = durableTool('tree', {}, async (_, task) => {
  const both = await Promise.all([task.start(branch), task.start(branch)]);
  for (const one of both) await one.result();
});

test('a subtree is cancelled with everything below it, after a confirmation with the number of subtasks', async () => {
  const { tasks, open, story } = await startDashboard({ tools: [leaf, branch, tree] });
  const { id } = await tasks.create(tree);
  await expect
    .poll(async () => (await story(id)).children.map(({ liveChildCount }) => liveChildCount))
    .toEqual([1, 1]);
  const [child] = (await story(id)).children;
  const page = await open(await context(), child!.id);
  await page.getByRole('navigation', { name: 'Parents of this task' }).getByText('tree').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1 running subtask and everything below will be cancelled, too.').waitFor();
  await dialog.getByRole('button', { name: 'Keep it' }).click();
  expect(await badge(page).innerText()).toBe('running');

  await page.getByRole('button', { name: 'Cancel' }).click();
  await dialog.getByRole('button', { name: 'Cancel the task' }).click();
  await expect.poll(() => badge(page).innerText()).toBe('cancelled');
  await page.getByRole('button', { name: /^Subtask leaf, cancelled/ }).waitFor();
  expect(await page.getByRole('button', { name: 'Retry' }).count()).toBe(0);
});

let isBroken = true;
const fragile = durableTool(
  'fragile',
  { inputSchema: z.object({ what: z.string() }) },
  async ({ what }, task) =>
    task.step('try', () => {
      if (isBroken) throw new TerminalError('It broke.');
      return `${what} is whole.`;
    }),
);

test('a retry leads to the new task, and both link to each other', async () => {
  const { tasks, open } = await startDashboard({ tools: [fragile] });
  const { id } = await tasks.create(fragile, { what: 'The pier' });
  const page = await open(await context(), id);
  await page.locator('.task-head .trouble', { hasText: 'It broke.' }).waitFor();
  await page.getByRole('button', { name: /^Step try, failed/ }).waitFor();
  isBroken = false;
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.getByText('The pier is whole.').waitFor();
  const retried = new URL(page.url()).searchParams.get('task');
  expect(retried).not.toBe(id);
  await page.locator('.head-facts').getByRole('link').click();
  await page.getByRole('link', { name: 'Go to the retry' }).click();
  await page.getByText('The pier is whole.').waitFor();
  expect(new URL(page.url()).searchParams.get('task')).toBe(retried);
});

test('a purged task is gone, and pages that show it report that', async () => {
  isBroken = false;
  const { tasks, open } = await startDashboard({ tools: [fragile] });
  const { id } = await tasks.create(fragile, { what: 'The pier' });
  const seen = await context();
  const page = await open(seen, id);
  const other = await open(seen, id);
  await page.getByRole('button', { name: 'Purge' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Purge the task' }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get('view')).toBe('tasks');
  await other.getByText('This task was purged.').waitFor();
  expect(await other.getByRole('button', { name: 'Purge' }).count()).toBe(0);
  await page.goBack();
  await page.getByText('Task not found').waitFor();
});

test('without the server the page keeps its data, and reports that it may be out of date', async () => {
  const { tasks, open, stop } = await startDashboard({ tools: [twoQuestions] });
  const { id } = await tasks.create(twoQuestions);
  const page = await open(await context(), id);
  const field = page.locator('.turn').nth(0).getByLabel('name');
  await field.fill('Ada');
  await stop();
  await page.locator('.turn').nth(0).getByRole('button', { name: 'Send answer' }).click();
  await page.getByText('This page may be out of date').waitFor();
  await page.locator('.form-error', { hasText: 'The server does not answer.' }).waitFor();
  expect(await field.inputValue()).toBe('Ada');
});
