/** What many subtasks cost, counted in what is read and written. */
import { createTasks, type Database, type DurableTool, durableTool } from 'holdfast';
import type { Change, CommittedChange, Store } from 'holdfast/store';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { withCommands } from '../../../src/engine/database/decorator.ts';
import { kinds, open } from '../../stores/kinds.ts';

/** Counts what is asked of a store. */
class Counted {
  gets = 0;
  /** Whole families, to look at or to change. */
  families = 0;
  /** Tasks that were read because they ask something. */
  asking = 0;
  /** Commits that were read to learn what happened to a task. */
  commits = 0;
  /** How many tasks each commit wrote. */
  readonly writes: number[] = [];

  /** Nobody is told of commits that fit. */
  wrap(database: Database, unheard: (notice: CommittedChange) => boolean = () => false): Database {
    const { store } = database;
    const committed = (change: Change) => {
      this.writes.push(change.writes.length);
      return change;
    };
    const wrapped = withCommands(database, {
      create: (bearing, decide) => store.create(bearing, decide).then(committed),
      update: (reach, id, decide) => {
        if (reach === 'family') this.families++;
        return store.update(reach, id, decide).then(committed);
      },
    });
    const counted: Partial<Store> = {
      get: (id, owner) => {
        this.gets++;
        return store.get(id, owner);
      },
      family: (id) => {
        this.families++;
        return store.family(id);
      },
      asking: async (id) => {
        const found = await store.asking(id);
        this.asking += found.length;
        return found;
      },
      commitsOf: async (...asked) => {
        const found = await store.commitsOf(...asked);
        this.commits += found.length;
        return found;
      },
      subscribe: (listener) => store.subscribe((notice) => unheard(notice) || listener(notice)),
    };
    return { ...wrapped, store: { ...wrapped.store, ...counted } };
  }
}

const leaf = durableTool('leaf', { task: 'always' }, async () => 'leaf');
/** Stays in memory while its subtasks end, because a step runs until they have. */
const busy = durableTool(
  'busy',
  { task: 'always', inputSchema: z.object({ subtasks: z.number() }) },
  async ({ subtasks }, task) => {
    const started = await Promise.all(Array.from({ length: subtasks }, () => task.start(leaf)));
    const { promise, resolve } = Promise.withResolvers<void>();
    const step = task.step('busy', () => promise);
    await Promise.all(started.map((one) => one.result()));
    resolve();
    await step;
    return 'busy';
  },
);
const patient = durableTool('patient', { task: 'always' }, async (_, task) => {
  const started = await Promise.all([1, 2, 3].map(() => task.start(leaf)));
  await Promise.all(started.map((one) => one.result()));
  return 'patient';
});
const asks = durableTool('asks', { task: 'always' }, async (_, task) => {
  await task.ask('ready', { message: 'Ready?', schema: z.object({}) });
});
const between = durableTool('between', { task: 'always' }, async (_, task) => {
  await (await task.start(asks)).result();
});
const waits = durableTool('waits', { task: 'always' }, async (_, task) => {
  await task.waitForEvent('never');
});
const crowd = durableTool(
  'crowd',
  { task: 'always', inputSchema: z.object({ subtasks: z.number() }) },
  async ({ subtasks }, task) => {
    await Promise.all(Array.from({ length: subtasks }, () => task.start(waits)));
    await task.start(between);
    await task.waitForEvent('never');
  },
);
const tools = [leaf, busy, patient, asks, between, waits, crowd] as unknown as DurableTool[];

describe.each(kinds)('many subtasks: $name', ({ place }) => {
  async function tasksOf(counted: Counted, unheard?: (notice: CommittedChange) => boolean) {
    const where = await place();
    const store = async () => counted.wrap(await open(where), unheard);
    const tasks = createTasks({ store, tools });
    onTestFinished(() => tasks.close());
    await tasks.work();
    return tasks;
  }

  test('each of them is read a few times, however many there are', async () => {
    const perSubtask = async (subtasks: number) => {
      const counted = new Counted();
      const tasks = await tasksOf(counted);
      const { id } = await tasks.create(busy, { subtasks });
      expect(await tasks.outcome(id)).toMatchObject({ kind: 'result', isError: false });
      return (counted.gets + counted.commits) / subtasks;
    };
    const few = await perSubtask(30);
    expect(await perSubtask(240)).toBeLessThan(2 * Math.max(few, 5));
  });

  test('a commit starts no more than two hundred of them', async () => {
    const counted = new Counted();
    const tasks = await tasksOf(counted);
    const { id } = await tasks.create(busy, { subtasks: 450 });
    expect(await tasks.outcome(id)).toMatchObject({ kind: 'result', isError: false });
    expect(counted.writes.filter((writes) => writes > 2)).toEqual([201, 201, 51]);
  });

  test('their ends are found although nobody is told of them', async () => {
    const isEnd = ({ events }: CommittedChange) => events.some(({ type }) => type === 'childDone');
    const tasks = await tasksOf(new Counted(), isEnd);
    const { id } = await tasks.create(patient);
    expect(await tasks.outcome(id)).toMatchObject({ kind: 'result', isError: false });
  });

  test('a poll of their root, and an answer, read those that ask, with the way to them, and no others', async () => {
    const counted = new Counted();
    const tasks = await tasksOf(counted);
    const { id } = await tasks.create(crowd, { subtasks: 60 });
    const requests = await tasks.requests();
    await expect.poll(async () => (await requests.tree(id))?.descendants.length).toBe(2);
    const before = { ...counted };
    const tree = await requests.tree(id);
    expect(tree!.root.liveChildCount).toBe(61);
    expect(tree!.descendants.map(({ tool }) => tool)).toEqual(['between', 'asks']);
    expect(counted.families).toBe(0);
    expect(counted.asking - before.asking).toBe(2);
    expect(counted.gets - before.gets).toBeLessThan(10);
    const [, asker] = tree!.descendants;
    const answer = { action: 'accept', content: {} } as const;
    await requests.answer(id, new Map([[asker!.id, { ready: answer }]]));
    expect((await requests.task(asker!.id))?.inputs).toMatchObject([{ state: 'answered' }]);
    expect(counted.families).toBe(0);
    await tasks.cancel(id);
  });
});
