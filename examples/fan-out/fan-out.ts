// A task that starts subtasks, runs them concurrently, and collects their results in order.
//   npm run example examples/fan-out/fan-out.ts
import { strict as assert } from 'node:assert';
import { parseArgs } from 'node:util';
import { createTasks, durableTool } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';
import { z } from 'zod';

const { values } = parseArgs({ options: { db: { type: 'string', default: 'memory:' } } });

const summarise = durableTool(
  'summarise',
  { inputSchema: z.object({ source: z.string() }), outputSchema: z.object({ summary: z.string() }) },
  async ({ source }, task) => {
    const text = await task.step('read', () => `${source}: the sea rises and falls twice a day`);
    await task.sleep('200ms');
    return { summary: text.split(': ')[0]!.toUpperCase() };
  },
);

const research = durableTool(
  'research',
  { inputSchema: z.object({ topic: z.string() }) },
  async ({ topic }, task) => {
    const sources = await task.step('find sources', () => ['almanac', 'atlas', 'harbour log']);
    const subtasks = await Promise.all(sources.map((source) => task.start(summarise, { source })));
    const summaries = await Promise.all(subtasks.map((subtask) => subtask.result()));
    return `${topic}: ${summaries.map(({ structuredContent }) => structuredContent?.summary).join(', ')}`;
  },
);

await using tasks = createTasks({ store: sqlite(values.db), tools: [summarise, research] });
await tasks.work();
const { id } = await tasks.create(research, { topic: 'tides' });
const outcome = await tasks.outcome(id);
console.log(JSON.stringify(outcome));
assert.deepEqual(outcome, {
  kind: 'result',
  isError: false,
  value: { content: [{ type: 'text', text: 'tides: ALMANAC, ATLAS, HARBOUR LOG' }] },
});
