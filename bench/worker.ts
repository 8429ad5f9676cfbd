/** `worker.ts LOCATION`: a worker with default settings on a database. It reports when handlers and steps begin. */
import { setTimeout as pause } from 'node:timers/promises';
import { createTasks, durableTool } from '../src/index.ts';
import { monotonicMs } from './measure.ts';
import { type Began, openDatabase } from './worker-process.ts';

const report = (began: Began) => process.send!(began);

/** Reports that it runs, and is done. */
export const stamp = durableTool('stamp', {}, async (_, task) => {
  report({ taskId: task.id, step: 0, atMs: monotonicMs() });
});

/** One step of 20 ms, as a call of a fast service takes. */
export const brief = durableTool('brief', {}, async (_, task) => {
  await task.step('work', () => pause(20));
});

/** Twenty steps of 50 ms. */
export const long = durableTool('long', {}, async (_, task) => {
  for (let step = 1; step <= 20; step++)
    await task.step(`step ${step}`, async () => {
      report({ taskId: task.id, step, atMs: monotonicMs() });
      await pause(50);
    });
});

export const tools = [stamp, brief, long];

if (import.meta.main) {
  const tasks = createTasks({ store: () => openDatabase(process.argv[2]!), tools });
  await tasks.work();
  process.once('disconnect', () => void tasks.close());
  process.send!('ready');
}
