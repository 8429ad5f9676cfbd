/** `waiting.ts fill|idle|answer|sleep FILE COUNT`: one worker process of the handlers suite; answers by one message. */
import { setTimeout as pause } from 'node:timers/promises';
import { createTasks, durableTool } from '../src/index.ts';
import { openSqlite } from '../src/sqlite.ts';

const [what, file, count] = [process.argv[2]!, process.argv[3]!, Number(process.argv[4])];

const asks = durableTool('asks', { deadline: 'none' }, async (_, task) => {
  const answer = await task.ask('name', { roots: true });
  return { roots: answer.roots.length };
});
let due = 0;
const sleeps = durableTool('sleeps', { deadline: 'none' }, async (_, task) => {
  await task.sleepUntil(due);
});

const database = await openSqlite(file);
const tasks = createTasks({ store: database, tools: [asks, sleeps], maxDeadline: 'none' });

/** Creates tasks and runs a worker until all of them wait. */
async function park(tool: typeof asks | typeof sleeps): Promise<string[]> {
  const ids: string[] = [];
  const parked = Promise.withResolvers<void>();
  let waiting = 0;
  const stop = await tasks.subscribe(({ events }) => {
    if (events.some(({ type }) => type === 'parked') && ++waiting === count) parked.resolve();
  });
  const worker = await tasks.work({ concurrency: 512 });
  while (ids.length < count) {
    const some = await Promise.all(
      Array.from({ length: Math.min(500, count - ids.length) }, () => tasks.create(tool)),
    );
    ids.push(...some.map(({ id }) => id));
  }
  await parked.promise;
  stop();
  await worker.stop();
  return ids;
}

const measures = {
  async fill() {
    await park(asks);
    return {};
  },

  async idle() {
    await tasks.work();
    await pause(1_000);
    globalThis.gc?.();
    return { rssMb: process.memoryUsage().rss / 2 ** 20 };
  },

  async answer() {
    const { rssMb } = await measures.idle();
    const before = process.cpuUsage();
    await pause(3_000);
    const used = process.cpuUsage(before);
    const page = await tasks.list({ owner: 'local', limit: 600 });
    const best: number[] = [];
    for (let run = 0; run < 3; run++) {
      const times: number[] = [];
      for (const { id } of page.tasks.slice(run * 200, run * 200 + 200)) {
        const started = performance.now();
        await tasks.answer(id, { name: { roots: [] } });
        await tasks.outcome(id);
        times.push(performance.now() - started);
      }
      best.push(times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)]!);
    }
    return { rssMb, cpuShare: (used.user + used.system) / 3e6, answerP99Ms: Math.min(...best) };
  },

  async sleep() {
    due = Date.now() + 2_000 + count * 2;
    const ids = await park(sleeps);
    if (Date.now() > due) throw new Error('It took too long to put the tasks to sleep.');
    const claimed = Promise.withResolvers<void>();
    let claims = 0;
    const done = Promise.withResolvers<void>();
    let ended = 0;
    await tasks.subscribe(({ events }) => {
      if (events.some(({ type }) => type === 'claimed') && ++claims === ids.length) claimed.resolve();
      if (events.some(({ type }) => type === 'finished') && ++ended === ids.length) done.resolve();
    });
    const claimable = async () => {
      await pause(due - Date.now());
      const tools = [{ tool: 'sleeps', version: '1' }];
      while ((await database.queue.backlog(tools, ids.length)).ready < ids.length) await pause(5);
      return (Date.now() - due) / 1_000;
    };
    const claimableS = await claimable();
    await tasks.work({ concurrency: 64 });
    await done.promise;
    return { claimableS, doneS: (Date.now() - due) / 1_000 };
  },
};

process.send!(await measures[what as keyof typeof measures]());
await tasks.close();
