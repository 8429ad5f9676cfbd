/** A real server with the dashboard, its tasks in a file, for browsers to look at. It can be stopped and started again. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTasks, durableTool, type Tasks, TerminalError } from 'holdfast';
import { serveHttp } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { attached } from '../kit/attached.ts';
import { builtDashboard } from './built.ts';

export const token = 'operator-0123456789abcdef';

const question = { message: 'Publish it?', schema: z.object({ go: z.boolean() }) };

const approve = durableTool('approve', {}, async (_, task) => {
  const answer = await task.ask('approval', question);
  return answer.action === 'accept' ? 'Published.' : 'Left alone.';
});

export const tools = [
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
] as const;

export class DashboardServer implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdfast-browser-'));
  #port = 0;
  tasks!: Tasks;
  stop = async () => {};

  static async start(): Promise<DashboardServer> {
    await builtDashboard();
    const server = new DashboardServer();
    await server.start();
    return server;
  }

  /** The address of a page; with the token it is for a browser that has none yet. */
  address(query = '', { withToken = true } = {}): string {
    return `http://127.0.0.1:${this.#port}/operator/${query}${withToken ? `#token=${token}` : ''}`;
  }

  /** On the same port and with the same tasks as before. */
  async start(operatorToken = token): Promise<void> {
    this.tasks = createTasks({ store: sqlite(join(this.#folder, 'tasks.db')), tools });
    const options = {
      port: this.#port,
      stopOn: [],
      grace: '1s',
      operator: { token: operatorToken },
    } as const;
    const served = await serveHttp(this.tasks, attached(this.tasks), options);
    this.#port = Number(new URL(served.url).port);
    this.stop = () => served.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The row of a task in the list. */
export function rowOf(page: Page, id: string) {
  return page.locator(`.row-link[data-id="${id}"]`);
}
