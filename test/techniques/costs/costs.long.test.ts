/** The bounds that hold with default options, at the size for which they are meant. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { kinds, open } from '../../stores/kinds.ts';
import { fanOut, median } from './fan-out.ts';
import { commitsIn, look, pollingTask, writeLooks } from './idle-passes.ts';

const hour = 3_600_000;
const perDay = 86_400;

const places = [{ name: 'memory', place: async () => 'memory:' }, ...kinds];

describe.each(places)('10,000 subtasks of one handler: $name', ({ name, place }) => {
  test('take no more than twice the time each that 1,000 take, and hold nobody up', async () => {
    const run = async (subtasks: number) => {
      const where = await place();
      return fanOut(() => open(where), subtasks);
    };
    await run(200);
    const few = [];
    const many = [];
    // In turns, so that whatever else the machine does slows down both.
    for (let round = 0; round < 3; round++) {
      few.push(await run(1_000));
      many.push(await run(10_000));
    }
    const all = { few: summedUp(few), many: summedUp(many) };
    console.log(`${name}: ${JSON.stringify(all)}`);
    expect(all.many.workMsPerSubtask).toBeLessThan(2 * all.few.workMsPerSubtask);
    expect(all.many.msPerSubtask).toBeLessThan(2 * all.few.msPerSubtask);
    expect(all.many.longestHoldMs).toBeLessThan(100);
    expect(all.many.pollMs).toBeLessThan(20);
    expect(all.many.laterPollMs).toBeLessThan(20);
  });
});

type Costs = Awaited<ReturnType<typeof fanOut>>;

function summedUp(runs: readonly Costs[]): Costs {
  const keys = Object.keys(runs[0]!) as (keyof Costs)[];
  const medians = keys.map((key) => [key, Number(median(runs.map((run) => run[key])).toFixed(3))]);
  return Object.fromEntries(medians) as unknown as Costs;
}

describe.each(kinds)('three days of looks once a second: $name', ({ name, place }) => {
  test('the last ones cost no more than twice what the first ones did, and an hour of them is kept', async () => {
    const where = await place();
    const from = Date.now();
    const first = await open(where);
    const id = await pollingTask(first, from);
    const before = await lookMs(first, id, from);
    await first.close();
    // As if nobody had ever left any out.
    await writeLooks(where, id, 3 * perDay, from + 200_000);
    const database = await open(where);
    onTestFinished(() => database.close());
    const now = from + 3 * perDay * 1_000 + 400_000;
    const uncut = await lookMs(database, id, now);
    while ((await database.store.leaveOut(now - hour, 200)) > 0);
    const after = await lookMs(database, id, now + 200_000);
    const commits = await commitsIn(where);
    console.log(
      `${name}: first ${before} ms, last ${uncut} ms, last after leaving out ${after} ms, ${commits} commits`,
    );
    expect(commits).toBeLessThan((3 * hour) / 1_000);
    expect(uncut).toBeLessThan(2 * before);
    expect(after).toBeLessThan(2 * before);
  });
});

/** How long a look takes: the median of a hundred. */
async function lookMs(database: Awaited<ReturnType<typeof open>>, id: string, from: number): Promise<number> {
  const times: number[] = [];
  for (let n = 1; n <= 100; n++) {
    const began = performance.now();
    await look(database, id, from + n * 1_000);
    times.push(performance.now() - began);
  }
  return Number(median(times).toFixed(3));
}
