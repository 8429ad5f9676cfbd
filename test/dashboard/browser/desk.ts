/** A server with a dashboard on a database of its own, and pages of it in a real browser. */
import { type DurableTool, durableTool } from 'holdfast';
import type { BrowserContext, Page } from 'playwright-core';
import { temporaryFile } from '../../kit/lifetime.ts';
import { delegate, operatorToken, tools as operatorTools, stage } from '../../operator/stage.ts';
import { builtDashboard } from './built.ts';

export { operatorToken } from '../../operator/stage.ts';

const sleep = durableTool('sleep', {}, async (_, task) => {
  task.progress(40, 100, 'Nearly half');
  await task.sleep('1h');
});

const someTools = [...operatorTools, delegate, sleep] as readonly DurableTool[];

export type Desk = Awaited<ReturnType<typeof startDesk>>;

/** `works` is whether this process works too. */
export async function startDesk({ tools = someTools, works = true } = {}) {
  await builtDashboard();
  const file = temporaryFile();
  let port = 0;
  const start = async (token = operatorToken) => {
    const http = { port, grace: '100ms', operator: { token } } as const;
    const started = await stage({ place: file, tools, works, http });
    port = Number(new URL(started.origin).port);
    return started;
  };
  let served = await start();
  const dashboard = `${served.origin}/operator/`;
  /** With the token it is for a browser that has none yet. */
  const address = (query = '', { withToken = true } = {}) =>
    `${dashboard}${query}${withToken ? `#token=${operatorToken}` : ''}`;
  return {
    ...served,
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
  };
}

/** The row of a task in the list. */
export function rowOf(page: Page, id: string) {
  return page.locator(`.row-link[data-id="${id}"]`);
}
