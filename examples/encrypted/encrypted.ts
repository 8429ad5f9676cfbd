// Tasks that are encrypted in their file: only a process with the key can read them.
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

// Created with `openssl rand -base64 32`. Do not store it with copies of the database.
const keys = { '2026-11': process.env.TASKS_KEY_2026_11! };
const store = sqlite(values.db, { encryption: { keys, current: '2026-11' } });

const tasks = createTasks({ store, tools: [diagnose] });
await tasks.work();
const { id } = await tasks.create(diagnose, { patient: 'Ada' });
console.log(JSON.stringify(await tasks.outcome(id)));
await tasks.close();
