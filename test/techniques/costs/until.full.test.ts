/** What it costs to poll for long. */
import { createTasks, durableTool } from 'holdfast';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '../../../src/testing/manual-clock.ts';
import { expectWithin } from '../../kit/within.ts';
import { kinds, open } from '../../stores/kinds.ts';
import { median } from './fan-out.ts';
import { commitsIn, pollingTask, writeLooks } from './idle-passes.ts';

describe.each(kinds)('polling for long: $name', ({ place }) => {
  test('a journal is read without the commits that added nothing to it', async () => {
    const where = await place();
    const now = Date.now();
    const first = await open(where);
    const id = await pollingTask(first, now);
    const few = await journalMs(first, id);
    await first.close();
    await writeLooks(where, id, 50_000, now);
    const later = await open(where);
    onTestFinished(() => later.close());
    expect(await later.store.journal(id)).toHaveLength(2);
    // Read with all the others it took a thousand times as long.
    expectWithin(20 * Math.max(few, 0.1), await journalMs(later, id));
  });

  test('looks leave nothing behind once an hour is over', async () => {
    const where = await place();
    const clock = new ManualClock(Date.now());
    const polls = durableTool('polls', { task: 'always' }, async (_, task) => {
      await task.waitForCondition('ready', () => looks++ > 40, { every: '5m' });
      return 'done';
    });
    let looks = 0;
    const tasks = createTasks({ store: () => open(where, { clock }), tools: [polls], clock });
    onTestFinished(() => tasks.close());
    await tasks.work();
    const { id } = await tasks.create(polls);
    const store = (await tasks.opened()).store;
    for (let before = -1; looks <= 30; before = looks) {
      await expect.poll(() => looks).toBeGreaterThan(before);
      await expect
        .poll(async () => (await store.get(id))?.phase === 'running' && !isHeld(await store.get(id)))
        .toBe(true);
      clock.advance(300_000);
    }
    // Twelve looks an hour, of two commits each, and a few that count for more.
    await expect.poll(() => commitsIn(where)).toBeLessThan(35);
    expect(await store.journal(id)).toHaveLength(2);
  });
});

function isHeld(task: unknown): boolean {
  return (task as { worker?: object }).worker !== undefined;
}

async function journalMs({ store }: Awaited<ReturnType<typeof open>>, id: string): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < 15; n++) {
    const from = performance.now();
    await store.journal(id);
    times.push(performance.now() - from);
  }
  return median(times);
}
