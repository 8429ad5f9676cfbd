// A tool that takes its time. Run it, kill it with Ctrl-C in the middle, run it again: it resumes where it stopped.
//   npm run example examples/quickstart/quickstart.ts
import { parseArgs } from 'node:util';
import { createTasks, durableTool } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';
import { z } from 'zod';

const { values } = parseArgs({ options: { db: { type: 'string', default: '.holdfast/quickstart.db' } } });

const brew = durableTool(
  'brew_tea',
  { inputSchema: z.object({ cups: z.number() }), outputSchema: z.object({ served: z.number() }) },
  async ({ cups }, task) => {
    await task.step('boil water', () => console.log('boiling water …'));
    await task.sleep('1s');
    for (let cup = 1; cup <= cups; cup++) {
      await task.step(`pour cup ${cup}`, () => console.log(`pouring cup ${cup}`));
      task.progress(cup, cups);
      await task.sleep('500ms');
    }
    return { served: cups };
  },
);

await using tasks = createTasks({ store: sqlite(values.db), tools: [brew] });
await tasks.work();

// The same idempotency key gives the same task, today's tea: a second run finds the work of the first.
const { id } = await tasks.create(brew, { cups: 5 }, { idempotencyKey: new Date().toDateString() });
const outcome = await tasks.outcome(id);
console.log('done:', outcome.kind === 'result' ? outcome.value : outcome);
