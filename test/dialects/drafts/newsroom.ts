/** The server of the transcripts: a tool that asks before it publishes, one that has subtasks, and one that is quick. */
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks, type DurableTool, durableResource, durableTool, type Task } from 'holdfast';
import { serveHttp } from 'holdfast/server';
import { openSqlite } from 'holdfast/sqlite';
import { expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Draft } from './peer.ts';

export interface Newsroom {
  readonly url: string;
  /** Resolves when the task has come that far. */
  until(taskId: string, phase: 'waiting' | 'done'): Promise<void>;
  untilSubtask(taskId: string): Promise<void>;
  /** Nothing is printed until the returned function is called. */
  stopPress(): () => void;
}

export async function newsroom(drafts: readonly Draft[]): Promise<Newsroom> {
  let press = Promise.resolve();

  const publish = durableTool(
    'publish',
    { task: 'always', inputSchema: z.object({ title: z.string() }) },
    async ({ title }, task) => {
      const answer = await task.ask('approve', {
        message: `Publish "${title}"?`,
        schema: z.object({ yes: z.boolean() }),
      });
      if (answer.action !== 'accept' || !answer.content.yes) return 'Kept in the drawer.';
      return task.step('print', () => press.then(() => `Published "${title}".`));
    },
  );

  const edition = durableTool(
    'edition',
    { task: 'always', inputSchema: z.object({ titles: z.array(z.string()) }) },
    async ({ titles }, task) => {
      for (const title of titles) await task.start(publish, { title });
      return `An edition of ${titles.length}.`;
    },
  );

  const count = durableTool('count', { inputSchema: z.object({ text: z.string() }) }, async ({ text }) => {
    return `${text.length} characters`;
  });

  const archive = durableResource(
    'archive',
    { uri: 'archive://{year}', task: 'always' },
    async ({ uri }) => uri,
  );

  const tasks = createTasks({
    // What they are is said in docs/limits.md, and would fill the transcripts.
    showLimits: false,
    store: () => openSqlite('memory:'),
    tools: [publish, edition, count] as readonly DurableTool[],
    resources: [archive],
    drafts,
  });
  await tasks.work();
  const factory = () => {
    const mcp = new McpServer({ name: 'newsroom', version: '1.0.0' });
    tasks.attach(mcp);
    return mcp;
  };
  const { url, stop } = await serveHttp(tasks, factory, { port: 0, grace: '1s', stopOn: [] });
  onTestFinished(stop);
  const untilIt = async (taskId: string, isSo: (task: Task) => boolean) => {
    const look = async () => isSo((await tasks.get(taskId))!);
    await expect.poll(look, { interval: 5 }).toBe(true);
  };
  return {
    url,
    until: (taskId, phase) => untilIt(taskId, (task) => task.phase === phase),
    untilSubtask: (taskId) => untilIt(taskId, ({ childCount }) => childCount > 0),
    stopPress() {
      const { promise, resolve } = Promise.withResolvers<void>();
      press = promise;
      return resolve;
    },
  };
}
