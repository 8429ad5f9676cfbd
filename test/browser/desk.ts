/** A server with a dashboard on a database of its own, and pages of its tasks in a real browser. */
import { createTasks, type DurableTool } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';
import type { BrowserContext, Page } from 'playwright-core';
import type { TaskStory } from '../../src/operator/api.ts';
import { temporaryFile } from '../kit/lifetime.ts';
import { serve } from '../kit/serve.ts';
import { builtDashboard } from './built.ts';

export const operatorToken = 'operator-0123456789abcdef';

/** `works` is whether this process works too. */
export async function startDesk({ tools, works = true }: { tools: readonly DurableTool[]; works?: boolean }) {
  await builtDashboard();
  const file = temporaryFile();
  const tasks = createTasks({ tools, audit: true, store: sqlite(file) });
  const server = await serve(tasks, { grace: '100ms', operator: { token: operatorToken } });
  if (works) await tasks.work();
  const dashboard = server.dashboard!;
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${dashboard}api/tasks/${path}`, {
      ...init,
      headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    });
  return {
    tasks,
    file,
    dashboard,
    /** The page of a task, as soon as its head is there. */
    open: async (context: BrowserContext, id: string): Promise<Page> => {
      const page = await context.newPage();
      await page.goto(`${dashboard}?task=${encodeURIComponent(id)}#token=${operatorToken}`);
      await page.locator('.task-head').waitFor();
      return page;
    },
    story: async (id: string) => (await ask(id)).json() as Promise<TaskStory>,
    act: (id: string, action: string, body: object = {}) =>
      ask(`${id}/${action}`, { method: 'POST', body: JSON.stringify(body) }),
    stop: () => server.stop(),
  };
}
