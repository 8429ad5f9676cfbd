/** The server of the transcripts: a tool that asks before it publishes, one that has subtasks, and one that is quick. */
import { createTasks, type DurableTool, durableResource, durableTool } from 'holdfast';
import { openSqlite } from 'holdfast/sqlite';
import { expect } from 'vitest';
import { z } from 'zod';
import { attached } from '../../kit/attached.ts';
import { serve } from '../../kit/serve.ts';
import type { Draft } from './peer.ts';

export type Newsroom = Awaited<ReturnType<typeof newsroom>>;

export async function newsroom(drafts: readonly Draft[]) {
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
  const { url } = await serve(tasks, {}, attached(tasks, {}, 'newsroom'));
  const task = (taskId: string) => expect.poll(() => tasks.get(taskId), { interval: 5 });
  return {
    url,
    until: (taskId: string, phase: 'waiting' | 'done') => task(taskId).toMatchObject({ phase }),
    untilSubtask: (taskId: string) => task(taskId).not.toMatchObject({ childCount: 0 }),
    /** Nothing is printed until the returned function is called. */
    stopPress() {
      const { promise, resolve } = Promise.withResolvers<void>();
      press = promise;
      return resolve;
    },
  };
}
