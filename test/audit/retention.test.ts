/** What ends by the clock: tasks past their deadline, trees past their retention, and entries of the log themselves. */
import { createTasks, durableTool, type TasksOptions } from 'holdfast';
import { ManualClock } from 'holdfast/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { withCode } from '../kit/with-code.ts';
import { kinds, open } from '../stores/kinds.ts';
import { logOf, story } from './log.ts';

const hour = 3_600_000;
const nap = durableTool('nap', { deadline: '1h', retention: '2h' }, async (_input, task) => {
  await task.sleep('30d');
  return 'woke';
});

describe.each(kinds)('on $name', ({ place }) => {
  async function napping(audit: NonNullable<TasksOptions['audit']>) {
    const clock = new ManualClock();
    const database = await open(await place(), { clock });
    const tasks = createTasks({ store: database, clock, tools: [nap], audit });
    onTestFinished(() => tasks.close());
    await tasks.work({ grace: '100ms' });
    const { id } = await tasks.create('nap');
    await expect.poll(async () => (await tasks.get(id))?.epoch).toBe(1);
    return { clock, tasks, database, id };
  }

  test('a task that passed its deadline was ended by the engine, and the log says why', async () => {
    const { clock, tasks, id } = await napping(true);
    clock.advance(hour + 1_000);
    await tasks.outcome(id);
    const ended = (await logOf(tasks, { taskId: id })).at(-1);
    expect(ended).toMatchObject({
      action: 'ended',
      by: 'engine',
      reason: 'The task passed its deadline before it finished.',
      details: { outcome: 'failure' },
    });
  });

  test('a task whose retention was over is gone, and its story is not', async () => {
    const { clock, tasks, id } = await napping(true);
    await tasks.cancel(id);
    clock.advance(2 * hour + 1_000);
    await expect.poll(() => tasks.get(id)).toBeUndefined();
    const log = await logOf(tasks, { taskId: id });
    expect(story(log)).toEqual(['created by operator', 'cancelled by operator', 'expired by engine']);
    expect(log.at(-1)).toMatchObject({ reason: 'The retention ended.', details: { tasks: 1 } });
  });

  test.each([
    ['as long as the log says', { retention: '7d' }, 7 * 24 * hour],
    ['90 days by default', true, 90 * 24 * hour],
  ] as const)('entries are kept for so long, and no longer: %s', async (_, audit, keptMs) => {
    const { clock, tasks, database } = await napping(audit);
    const older = { action: 'denied', owner: 'ada', taskId: null, by: 'caller' } as const;
    await database.audit.append([{ ...older, at: clock.now() - 2 * 60_000 }]);
    expect(story(await logOf(tasks))).toEqual(['created by operator', 'denied by caller']);
    clock.jump(keptMs - 60_000);
    await expect.poll(async () => story(await logOf(tasks))).not.toContain('denied by caller');
    expect(story(await logOf(tasks))).toContain('created by operator');
  });

  test('what is no length of time is refused where it is said', () => {
    const audit = { retention: 'for ever' } as never;
    expect(() => createTasks({ store: async () => open(await place()), audit })).toThrow(
      withCode('INVALID_DURATION'),
    );
  });
});
