/** A real server with the dashboard, its tasks in a file, for browsers to look at. It can be stopped and started again. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks, durableTool, type Tasks, TerminalError } from 'holdfast';
import { serveHttp } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { builtDashboard } from './built.ts';

export const token = 'operator-0123456789abcdef';

const approve = durableTool('approve', {}, async (_, task) => {
  const answer = await task.ask('approval', {
    message: 'Publish it?',
    schema: z.object({ go: z.boolean() }),
  });
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
  readonly #folder: string;
  #port = 0;
  #tasks!: Tasks;
  #stop: () => Promise<void> = async () => {};

  static async start(): Promise<DashboardServer> {
    await builtDashboard();
    const server = new DashboardServer(await mkdtemp(join(tmpdir(), 'holdfast-browser-')));
    await server.start();
    return server;
  }

  constructor(folder: string) {
    this.#folder = folder;
  }

  get tasks(): Tasks {
    return this.#tasks;
  }

  /** The address of a page; with the token it is for a browser that has none yet. */
  address(query = '', { withToken = true } = {}): string {
    return `http://127.0.0.1:${this.#port}/operator/${query}${withToken ? `#token=${token}` : ''}`;
  }

  /** On the same port and with the same tasks as before. */
  async start(operatorToken = token): Promise<void> {
    const tasks = createTasks({ store: sqlite(join(this.#folder, 'tasks.db')), tools });
    const factory = () => {
      const mcp = new McpServer({ name: 'browser', version: '1' });
      tasks.attach(mcp);
      return mcp;
    };
    const served = await serveHttp(tasks, factory, {
      port: this.#port,
      stopOn: [],
      grace: '1s',
      operator: { token: operatorToken },
    });
    this.#port = Number(new URL(served.url).port);
    this.#tasks = tasks;
    this.#stop = () => served.stop();
  }

  async stop(): Promise<void> {
    await this.#stop();
    this.#stop = async () => {};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The row of a task in the list. */
export function rowOf(page: Page, id: string) {
  return page.locator(`.row-link[data-id="${id}"]`);
}
