/** A worker whose step blocks the event loop: `blocked.ts MODE MS [native|internals]`. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { inspect } from 'node:util';
import { createTasks, durableTool } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';

const [mode, ms, how] = process.argv.slice(2) as ['report' | 'exit', string, string?];
const manyNumbers = Array.from({ length: 10_000 }, (_, n) => ({ n }));
const other = durableTool('patient', {}, async (_, task) => {
  await task.step('waits', () => new Promise(() => {}));
});
const crunch = durableTool('crunch', {}, async (_, task) => {
  await task.step('numbers', async () => {
    await null;
    if (how === 'native') return void execFileSync('sleep', [String(Number(ms) / 1_000)]);
    const busy = how === 'internals' ? () => inspect(manyNumbers, { maxArrayLength: Infinity }) : () => {};
    for (const end = performance.now() + Number(ms); performance.now() < end; busy());
  });
});
const tasks = createTasks({
  store: sqlite('memory:'),
  tools: [other, crunch],
  log: ({ event, detail }) => event === 'loopBlocked' && console.log(JSON.stringify(detail)),
});
const isUp = once(process, 'worker').then(([watchdog]) => once(watchdog, 'online'));
await tasks.work({ lease: '1s', watchdog: mode, grace: '100ms' });
await tasks.create(other);
await isUp;
// It watches by then, on a busy machine too.
await new Promise((resolve) => setTimeout(resolve, 1_500));
const { id } = await tasks.create(crunch);
await tasks.outcome(id);
console.log('done');
await new Promise((resolve) => setTimeout(resolve, 500));
await tasks.close();
