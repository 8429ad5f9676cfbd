import { expect, test } from 'vitest';
import { workerDefaults } from '../../../src/engine/worker/settings.ts';
import { Worker } from '../../../src/engine/worker/worker.ts';
import { createTasks, durableTool, type Tasks } from '../../../src/index.ts';
import type { TaskEvent } from '../../../src/model/event.ts';
import type { TaskId } from '../../../src/model/task.ts';
import { openSqlite } from '../../../src/sqlite.ts';
import { ManualClock } from '../../../src/testing.ts';
import type { HandlerByHand } from './host.ts';
import { changes, old } from './releases.ts';

const toolOf = (handler: HandlerByHand) =>
  durableTool('publish', {}, async (_, task) => (await handler(task)) as object);

/** A task that the old release began and that has come to its question, and the means to go on with it. */
async function begun() {
  const clock = new ManualClock();
  const database = await openSqlite('memory:', { clock });
  const tasks: Tasks = createTasks({ store: database, tools: [toolOf(old)], clock });
  const release = (handler: HandlerByHand) =>
    new Worker(database, clock, [toolOf(handler)], { ...workerDefaults, lingerMs: 0 });
  /** Resolves when this has happened to a task from now on. */
  const heardOf = (id: TaskId, type: TaskEvent['type']) =>
    new Promise<void>((resolve) => {
      const forget = database.store.subscribe(({ taskId, events }) => {
        if (taskId !== id || !events.some((event) => event.type === type)) return;
        forget();
        resolve();
      });
    });
  const { id } = await tasks.create('publish');
  const parked = heardOf(id, 'parked');
  const worker = release(old);
  await parked;
  await worker.stop();
  await tasks.sendEvent(id, 'embargo lifted');
  return { clock, database, tasks, id, release, heardOf };
}

test.each(changes)(
  '%s: the task is held, says why, and the old release finishes it',
  async (_, handler, message) => {
    const { clock, database, tasks, id, release, heardOf } = await begun();
    const journal = await database.store.journal(id);
    const stuck = heardOf(id, 'stuck');
    const changed = release(handler);
    await stuck;
    await changed.stop();
    const held = (await tasks.get(id))!;
    expect(held).toMatchObject({ phase: 'waiting', wakeAt: clock.now() + 5_000 });
    expect(held).not.toHaveProperty('worker');
    const [, difference] =
      /^Waiting for a worker with the handler that began this task: in publish version 1, (.*)\.$/.exec(
        held.statusMessage!,
      )!;
    expect(difference).toEqual(message);
    expect(await database.store.journal(id)).toEqual(journal);

    await tasks.answer(id, { 'where to': { roots: [{ uri: 'file:///site' }] } });
    const worker = release(old);
    clock.advance(5_000);
    expect(await tasks.outcome(id)).toMatchObject({
      kind: 'result',
      isError: false,
      value: { content: [{ text: '{"drafts":["text of sources","images of sources"],"roots":1}' }] },
    });
    await worker.stop();
    await tasks.close();
  },
);

test('a blocked task is retried after five seconds, then after ten, then after twenty', async () => {
  const { clock, tasks, id, release, heardOf } = await begun();
  const [[, changed]] = changes as [(typeof changes)[number]];
  let stuck = heardOf(id, 'stuck');
  const worker = release(changed);
  for (const rest of [5_000, 10_000, 20_000]) {
    await stuck;
    const { epoch } = (await tasks.get(id))!;
    clock.advance(rest - 1);
    expect(await tasks.get(id)).toMatchObject({ epoch, wakeAt: clock.now() + 1 });
    stuck = heardOf(id, 'stuck');
    clock.advance(1);
  }
  await stuck;
  expect(await tasks.get(id)).toMatchObject({ phase: 'waiting', blocked: { times: 4 } });
  await worker.stop();
  await tasks.close();
});
