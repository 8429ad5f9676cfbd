/** A server with a dashboard and its own database, for tests in a real browser. */
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

export type Dashboard = Awaited<ReturnType<typeof startDashboard>>;

/** `works`: this process also runs a worker. */
export async function startDashboard({ tools = someTools, works = true } = {}) {
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
  /** The address of a page. A browser needs the token only on the first visit. */
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
    /** Restarts the server on the same port and with the same tasks. */
    startAgain: async (token?: string) => {
      served = await start(token);
    },
    /** Opens the page of a task and waits until it is loaded. */
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
