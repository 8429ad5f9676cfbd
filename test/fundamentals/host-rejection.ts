/** A host program with so many workers, one of whose own promises is rejected. */
import { setTimeout as pause } from 'node:timers/promises';
import { createTasks, durableTool } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';

const tasks = createTasks({ store: sqlite('memory:'), tools: [durableTool('t', {}, async () => {})] });
for (let n = 0; n < Number(process.argv[2]); n++) await tasks.work();
void Promise.reject(new Error('a bug of the host program'));
await pause(100);
console.log('still alive');
await tasks.close();
