/** Work goes on: answers every question, takes every claim that is free, and brings every task to its end. */
import { setTimeout as pause } from 'node:timers/promises';
import { claimTasks } from '../../../src/engine/claims.ts';
import type { Database } from '../../../src/engine/queue.ts';
import { answer, complete } from '../../../src/engine/transitions.ts';
import { openInputs, type Task } from '../../../src/model/task.ts';
import { committed, type Line } from './acknowledgement.ts';
import { answerTo, owners, tools } from './load.ts';

/** Returns the tasks that were still alive when the time was up; none, if nothing is stuck. */
export async function finishEverything(
  database: Database,
  say: (line: Line) => void,
  withinMs = 60_000,
): Promise<Task[]> {
  for (const started = performance.now(); ; await pause(20)) {
    const live = await liveTasks(database);
    if (live.length === 0 || performance.now() - started > withinMs) return live;
    await Promise.all(
      live.filter(({ phase }) => phase === 'waiting').map((task) => answerAll(database, task, say)),
    );
    await completeAll(database, say);
  }
}

async function liveTasks({ store }: Database): Promise<Task[]> {
  const live: Task[] = [];
  for (const owner of owners) {
    let cursor: string | undefined;
    do {
      const page = await store.list({ owner, limit: 200, ...(cursor && { cursor }) });
      cursor = page.nextCursor;
      for (const root of page.tasks) {
        if (root.phase === 'done') continue;
        const family = (await store.family(root.id))!;
        live.push(...[family.task, ...family.descendants].filter(({ phase }) => phase !== 'done'));
      }
    } while (cursor);
  }
  return live;
}

async function answerAll({ store }: Database, task: Task, say: (line: Line) => void): Promise<void> {
  const responses = Object.fromEntries(openInputs(task).map(({ key }) => [key, answerTo(key)]));
  say(committed(await store.update('task', task.id, (now) => answer(now, responses, Date.now()))));
}

async function completeAll(database: Database, say: (line: Line) => void): Promise<void> {
  for (;;) {
    const claimed = await claimTasks(database, { tools, limit: 200, leaseMs: 60_000, now: Date.now });
    if (claimed.length === 0) return;
    await Promise.all(
      claimed.map(async ({ claim }) => {
        const outcome = { kind: 'result', isError: false, value: 'drained' } as const;
        say(
          committed(
            await database.store.update('lineage', claim.taskId, (around) =>
              complete(around, claim, outcome, Date.now()),
            ),
          ),
        );
      }),
    );
  }
}
