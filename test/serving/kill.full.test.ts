/** `kill -9` of the process that serves a request: what nobody was told of ends with it, what was published goes on. */
import { describe, expect, test } from 'vitest';
import { Place, standing } from './place.ts';
import { serve } from './server-process.ts';

const callers = [
  ['inside the window', { tasks: true }],
  ['during a plain wait', { tasks: false }],
] as const;

describe.each(callers)('killed %s, the next process on the same store', (_, caller) => {
  test('ends the work that was under way, and finishes the tasks that were published', async () => {
    const place = new Place();
    const first = await serve({ file: place.database, window: '1h' });
    const { taskId } = (await first.client().call('work_always', place.work('published'))).result;
    first.client(caller).openCall('work_auto', place.work());
    await expect
      .poll(() => [place.trace(), place.trace('published')].map((lines) => lines.at(-1)))
      .toEqual(['second', 'second']);
    await first.kill();

    const client = (await serve({ file: place.database })).client();
    place.open();
    place.open('published');
    await client.until(taskId, 'completed');
    await expect.poll(() => standing(place.tasks('work_auto'))).toEqual(['cancelled']);
    expect(place.trace('published')).toEqual(['first', 'second', 'second', 'third']);
    expect(place.trace()).toEqual(['first', 'second']);
  });

  test('does not wake work that was asleep', async () => {
    const place = new Place();
    const first = await serve({ file: place.database, window: '1h' });
    first.client(caller).openCall('nap', { trace: place.work().trace, ms: 1_500 });
    // Parked: no worker holds it.
    await expect.poll(() => place.tasks().map((task) => 'worker' in task)).toEqual([false]);
    await first.kill();

    await serve({ file: place.database });
    await expect.poll(() => standing(place.tasks())).not.toEqual(['running']);
    expect(standing(place.tasks())).toEqual(['cancelled']);
    expect(place.trace()).toEqual(['before']);
  });

  test('does not begin work that no worker had begun', async () => {
    const place = new Place();
    const first = await serve({ file: place.database, window: '1h', concurrency: 1 });
    await first.client().call('work_always', place.work('busy'));
    first.client(caller).openCall('work_auto', place.work());
    await expect.poll(() => standing(place.tasks())).toEqual(['running', 'queued']);
    await first.kill();

    await serve({ file: place.database });
    place.open();
    await expect.poll(() => standing(place.tasks('work_auto'))).not.toEqual(['queued']);
    await expect.poll(() => standing(place.tasks('work_auto'))).toEqual(['cancelled']);
    expect(place.trace()).toEqual([]);
  });
});

test('the subtasks of a plain call whose server was killed do not run on', async () => {
  const place = new Place();
  const first = await serve({ file: place.database });
  first.client({ tasks: false }).openCall('parent', place.work());
  await expect.poll(() => place.trace()).toContain('second');
  // The parent waits for its subtask, in no worker's hands.
  await expect.poll(() => place.tasks().map((task) => 'worker' in task)).toEqual([false, true]);
  await first.kill();

  await serve({ file: place.database });
  place.open();
  await expect.poll(() => standing(place.tasks())).toEqual(['cancelled', 'cancelled']);
  expect(place.trace()).toEqual(['first', 'second']);
});

test('a plain call outlives the worker: another takes the work over, and the caller gets its result', async () => {
  const place = new Place();
  const front = await serve({ file: place.database, concurrency: 0 });
  const worker = await serve({ file: place.database });
  const { reply } = front.client({ tasks: false }).openCall('work_auto', place.work());
  await expect.poll(() => place.trace()).toContain('second');
  await worker.kill();
  place.open();
  await serve({ file: place.database });
  expect((await reply).result).toMatchObject({ resultType: 'complete', content: [{ text: 'worked' }] });
  expect(place.trace()).toEqual(['first', 'second', 'second', 'third']);
});
