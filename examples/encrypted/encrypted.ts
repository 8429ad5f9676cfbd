// Tasks that nobody can read in the file who has not its key.
//   TASKS_KEY_2026_11=$(openssl rand -base64 32) npm run example examples/encrypted/encrypted.ts -- --db /tmp/encrypted.db
import { parseArgs } from 'node:util';
import { createTasks, durableTool } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';
import { z } from 'zod';

const { values } = parseArgs({ options: { db: { type: 'string', default: 'encrypted.db' } } });

const inputSchema = z.object({ patient: z.string() });
const diagnose = durableTool('diagnose', { inputSchema }, async ({ patient }, task) => {
  const findings = await task.step('examine', () => `${patient} has a cold`);
  return `${findings}: tea and rest.`;
});

// Made with `openssl rand -base64 32`, and kept where no copy of the database goes.
const keys = { '2026-11': process.env.TASKS_KEY_2026_11! };
const store = sqlite(values.db, { encryption: { keys, current: '2026-11' } });

const tasks = createTasks({ store, tools: [diagnose] });
await tasks.work();
const { id } = await tasks.create(diagnose, { patient: 'Ada' });
console.log(JSON.stringify(await tasks.outcome(id)));
await tasks.close();
