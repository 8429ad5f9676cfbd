/** A server with a dashboard on a database of its own, and pages of it in a real browser. */
import { createTasks, type DurableTool, durableTool, TerminalError } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';
import type { BrowserContext, Page } from 'playwright-core';
import { z } from 'zod';
import type { TaskStory } from '../../../src/operator/api.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { serve } from '../../kit/serve.ts';
import { builtDashboard } from './built.ts';

export const operatorToken = 'operator-0123456789abcdef';

const question = { message: 'Publish it?', schema: z.object({ go: z.boolean() }) };

const approve = durableTool('approve', {}, async (_, task) => {
  const answer = await task.ask('approval', question);
  return answer.action === 'accept' ? 'Published.' : 'Left alone.';
});

const someTools = [
  durableTool(
    'greet',
    { inputSchema: z.object({ name: z.string() }) },
    async ({ name }) => `Hello, ${name}.`,
  ),
  approve,
  durableTool('delegate', {}, async (_, task) => (await task.start(approve)).result()),
  durableTool('break', {}, async () => {
    throw new TerminalError('It broke.');
  }),
  durableTool('sleep', {}, async (_, task) => {
    task.progress(40, 100, 'Nearly half');
    await task.sleep('1h');
  }),
] as unknown as readonly DurableTool[];

export type Desk = Awaited<ReturnType<typeof startDesk>>;

/** `works` is whether this process works too. */
export async function startDesk({ tools = someTools, works = true } = {}) {
  await builtDashboard();
  const file = temporaryFile();
  let port = 0;
  const start = async (token = operatorToken) => {
    const tasks = createTasks({ tools, audit: true, store: sqlite(file) });
    const server = await serve(tasks, { port, grace: '100ms', operator: { token } });
    port = Number(new URL(server.url).port);
    if (works) await tasks.work();
    return { tasks, stop: () => server.stop() };
  };
  let served = await start();
  const dashboard = `http://127.0.0.1:${port}/operator/`;
  /** With the token it is for a browser that has none yet. */
  const address = (query = '', { withToken = true } = {}) =>
    `${dashboard}${query}${withToken ? `#token=${operatorToken}` : ''}`;
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${dashboard}api/tasks/${path}`, {
      ...init,
      headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    });
  return {
    get tasks() {
      return served.tasks;
    },
    file,
    dashboard,
    address,
    stop: () => served.stop(),
    /** On the same port and with the same tasks as before. */
    startAgain: async (token?: string) => {
      served = await start(token);
    },
    /** The page of a task, as soon as its head is there. */
    open: async (context: BrowserContext, id: string): Promise<Page> => {
      const page = await context.newPage();
      await page.goto(address(`?task=${encodeURIComponent(id)}`));
      await page.locator('.task-head').waitFor();
      return page;
    },
    story: async (id: string) => (await ask(id)).json() as Promise<TaskStory>,
    act: (id: string, action: string, body: object = {}) =>
      ask(`${id}/${action}`, { method: 'POST', body: JSON.stringify(body) }),
  };
}

/** The row of a task in the list. */
export function rowOf(page: Page, id: string) {
  return page.locator(`.row-link[data-id="${id}"]`);
}
