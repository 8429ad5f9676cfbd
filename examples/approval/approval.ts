// A question that outlives the process that asked it.
//   npm run example examples/approval/approval.ts ask              drafts, asks, and exits: the task waits in the store
//   npm run example examples/approval/approval.ts answer ID yes    another process, another day, answers and prints the result
import { parseArgs } from 'node:util';
import { createTasks, durableTool } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';
import { z } from 'zod';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { db: { type: 'string', default: '.holdfast/approval.db' } },
});
const [command, id = '', word] = positionals;

const publish = durableTool(
  'publish_report',
  { inputSchema: z.object({ topic: z.string() }), deadline: '7d' },
  async ({ topic }, task) => {
    const draft = await task.step('draft', () => {
      console.log('drafting …');
      return `All about ${topic}.`;
    });
    const answer = await task.ask('approval', {
      message: `Publish "${draft}"?`,
      schema: z.object({ publish: z.boolean() }),
    });
    if (answer.action !== 'accept' || !answer.content.publish) return 'Not published.';
    return await task.step('publish', () => `Published: ${draft}`);
  },
);

await using tasks = createTasks({ store: sqlite(values.db), tools: [publish] });

if (command === 'ask') {
  const task = await tasks.create(publish, { topic: 'tides' });
  const asked = new Promise<void>((resolve) => {
    void tasks.subscribe(({ events }) => {
      if (events.some(({ type }) => type === 'asked')) resolve();
    });
  });
  await tasks.work();
  await asked;
  console.log(`${task.id} waits for an answer. This process exits now. Answer with:`);
  console.log(`  npm run example examples/approval/approval.ts answer ${task.id} yes`);
} else if (command === 'answer') {
  await tasks.answer(id, { approval: { action: 'accept', content: { publish: word === 'yes' } } });
  await tasks.work();
  const outcome = await tasks.outcome(id);
  console.log(outcome.kind === 'result' ? outcome.value : outcome);
} else {
  console.error('Usage: approval.ts ask | answer ID yes');
  process.exitCode = 2;
}
