/** Work goes on: answers every question, takes every claim that is free, and brings every task to its end. */
import { setTimeout as pause } from 'node:timers/promises';
import { answer, complete } from '../../../src/engine/rules/transitions.ts';
import { claimTasks } from '../../../src/engine/worker/claiming.ts';
import { openInputs, type Task } from '../../../src/model/task.ts';
import type { Database } from '../../../src/ports/queue.ts';
import { listed } from '../../kit/listed.ts';
import { committed, type Line } from './acknowledgement.ts';
import { answerTo, owners, tools } from './load.ts';

/** Returns the tasks that were still alive when the time was up; none, if nothing is stuck. */
export async function finishEverything(database: Database, say: (line: Line) => void): Promise<Task[]> {
  for (const started = performance.now(); ; await pause(20)) {
    const live = await liveTasks(database);
    if (live.length === 0 || performance.now() - started > 60_000) return live;
    await Promise.all(
      live.filter(({ phase }) => phase === 'waiting').map((task) => answerAll(database, task, say)),
    );
    await completeAll(database, say);
  }
}

async function liveTasks({ store }: Database): Promise<Task[]> {
  const live: Task[] = [];
  for (const owner of owners)
    for await (const root of listed(store, { owner, limit: 200 })) {
      if (root.phase === 'done') continue;
      const family = (await store.family(root.id))!;
      live.push(...[family.task, ...family.descendants].filter(({ phase }) => phase !== 'done'));
    }
  return live;
}

async function answerAll({ store }: Database, task: Task, say: (line: Line) => void): Promise<void> {
  const responses = Object.fromEntries(openInputs(task).map(({ key }) => [key, answerTo(key)]));
  say(committed(await store.update('task', task.id, (now) => answer(now, responses, Date.now()))));
}

async function completeAll(database: Database, say: (line: Line) => void): Promise<void> {
  const outcome = { kind: 'result', isError: false, value: 'drained' } as const;
  for (;;) {
    const claimed = await claimTasks(database, { tools, limit: 200, leaseMs: 60_000, now: Date.now });
    if (claimed.length === 0) return;
    const completed = claimed.map(async ({ claim }) =>
      database.store.update('lineage', claim.taskId, (around) =>
        complete(around, claim, outcome, Date.now()),
      ),
    );
    for (const change of await Promise.all(completed)) say(committed(change));
  }
}
