/** `worker.ts LOCATION [CONCURRENCY]`: a worker on a database. It reports when handlers and steps start. */
import { setTimeout as pause } from 'node:timers/promises';
import { createTasks, durableTool } from '../src/index.ts';
import { monotonicMs } from './measure.ts';
import { type Began, openDatabase } from './worker-process.ts';

const report = (began: Began) => process.send!(began);

/** Reports its start and returns. */
export const stamp = durableTool('stamp', {}, async (_, task) => {
  report({ taskId: task.id, step: 0, atMs: monotonicMs() });
});

/** One step of 50 ms. */
export const brief = durableTool('brief', {}, async (_, task) => {
  await task.step('work', () => pause(50));
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
  const [, , location, concurrency] = process.argv;
  const tasks = createTasks({ store: () => openDatabase(location!), tools });
  await tasks.work(concurrency === undefined ? {} : { concurrency: Number(concurrency) });
  process.once('disconnect', () => void tasks.close());
  process.send!('ready');
}
