/** How far one task may spread. */
import { createTasks, type DurableTool, durableTool } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defaultTaskLimits } from '../../src/engine/rules/limits.ts';

const leaf = durableTool('leaf', {}, async () => 'leaf');
const deeper: DurableTool = durableTool('deeper', {}, async (_, task) => {
  const { content } = await (await task.start(deeper as never)).result();
  return String(content[0]!.text);
});
const wide = durableTool('wide', { inputSchema: z.object({ n: z.number() }) }, async ({ n }, task) => {
  for (let i = 0; i < n; i++) await task.start(leaf);
  return 'wide';
});
const curious = durableTool('curious', {}, async (_, task) => {
  const question = { message: 'And?', schema: z.object({}) };
  await Promise.all([1, 2, 3].map((n) => task.ask(`q${n}`, question)));
});

async function outcome(tool: DurableTool, input?: object) {
  const tasks = createTasks({
    store: sqlite('memory:'),
    tools: [leaf, deeper, wide, curious],
    taskLimits: { maxDepth: 3, maxSubtasks: 5, maxOpenQuestions: 2 },
  });
  onTestFinished(() => tasks.close());
  await tasks.work();
  const { id } = await tasks.create(tool, input);
  return tasks.outcome(id);
}

test('subtasks start no subtasks below the deepest', async () => {
  expect(JSON.stringify(await outcome(deeper))).toContain(
    'Subtasks are nested too deeply: at most 3 (maxDepth).',
  );
});

test('a task starts no more subtasks than it may', async () => {
  expect(await outcome(wide, { n: 5 })).toMatchObject({ isError: false });
  expect(JSON.stringify(await outcome(wide, { n: 6 }))).toContain('at most 5 (maxSubtasks)');
});

test('a task has no more questions open than it may', async () => {
  expect(JSON.stringify(await outcome(curious))).toContain('at most 2 (maxOpenQuestions)');
});

test('a journal that cannot hold the results of subtasks is refused when they are awaited, not when they have run', async () => {
  const waits = durableTool('waits', {}, async (_, task) => {
    await task.waitForEvent('never');
  });
  const many = durableTool('many', { maxJournalEntries: 20 }, async (_, task) => {
    const started = await Promise.all(Array.from({ length: 11 }, () => task.start(waits)));
    await Promise.all(started.map((one) => one.result()));
  });
  const tasks = createTasks({ store: sqlite('memory:'), tools: [waits, many] });
  onTestFinished(() => tasks.close());
  await tasks.work();
  const { id } = await tasks.create(many);
  expect(JSON.stringify(await tasks.outcome(id))).toContain('would grow beyond 20 entries');
});

test('by default a task may start as many subtasks as it may have, and await them all', () => {
  const { maxJournalEntries } = leaf;
  expect(maxJournalEntries).toBeGreaterThan(2 * defaultTaskLimits.maxSubtasks);
});
