/** A server with a dashboard on a database of its own, and pages of its tasks in a real browser. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks, type DurableTool, type Tasks } from 'holdfast';
import { serveHttp } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import type { BrowserContext, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { TaskStory } from '../../src/operator/api.ts';
import { builtDashboard } from './built.ts';

export const operatorToken = 'operator-0123456789abcdef';

export interface Desk {
  readonly tasks: Tasks;
  readonly file: string;
  readonly dashboard: string;
  /** The page of a task, as soon as its head is there. */
  open(context: BrowserContext, id: string): Promise<Page>;
  story(id: string): Promise<TaskStory>;
  act(id: string, action: string, body?: object): Promise<Response>;
  stop(): Promise<void>;
}

interface DeskOptions {
  readonly tools: readonly DurableTool[];
  /** Whether this process works too. */
  readonly works?: boolean;
}

export async function startDesk({ tools, works = true }: DeskOptions): Promise<Desk> {
  await builtDashboard();
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-desk-'));
  const file = join(folder, 'tasks.db');
  const tasks = createTasks({ tools, audit: true, store: sqlite(file) });
  const factory = () => {
    const mcp = new McpServer({ name: 'desk', version: '1' });
    tasks.attach(mcp);
    return mcp;
  };
  const operator = { token: operatorToken };
  const server = await serveHttp(tasks, factory, { port: 0, stopOn: [], grace: '100ms', operator });
  onTestFinished(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
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
    open: async (context, id) => {
      const page = await context.newPage();
      await page.goto(`${dashboard}?task=${encodeURIComponent(id)}#token=${operatorToken}`);
      await page.locator('.task-head').waitFor();
      return page;
    },
    story: async (id) => (await ask(id)).json() as Promise<TaskStory>,
    act: (id, action, body = {}) => ask(`${id}/${action}`, { method: 'POST', body: JSON.stringify(body) }),
    stop: () => server.stop(),
  };
}
