/** A child process that runs tasks until it is killed or stopped. */
import { createTasks } from '../../src/index.ts';
import { sqlite } from '../../src/sqlite.ts';
import { send } from './child-messages.ts';
import { giveUp, onOrder, options } from './child-process.ts';
import { chaosTools } from './tools.ts';

const { voyage, leg, crew } = chaosTools(options);
const tasks = createTasks({ store: sqlite(options.file), tools: [voyage, leg, crew] });

onOrder<'stop'>(async () => {
  await tasks.close();
  process.exit(0);
});
send({ kind: 'ready', pid: process.pid });
await tasks.work({ concurrency: 8 }).catch(giveUp);
