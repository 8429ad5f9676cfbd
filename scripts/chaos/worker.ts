/** A child process that works on tasks until it is killed, or told to stop. */
import { createTasks } from '../../src/index.ts';
import { sqlite } from '../../src/sqlite.ts';
import { giveUp, onOrder, options } from './child-process.ts';
import { say } from './said.ts';
import { chaosTools } from './tools.ts';

const { voyage, leg, crew } = chaosTools(options);
const tasks = createTasks({ store: sqlite(options.file), tools: [voyage, leg, crew] });

onOrder<'stop'>(async () => {
  await tasks.close();
  process.exit(0);
});
say({ kind: 'ready', pid: process.pid });
await tasks.work({ concurrency: 8 }).catch(giveUp);
