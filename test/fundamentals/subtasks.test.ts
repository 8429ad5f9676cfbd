import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTasks, durableTool, type Task } from '../../src/index.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { ManualClock, runTool } from '../../src/testing.ts';

const leaf = durableTool(
  'leaf',
  { inputSchema: z.object({ label: z.string() }), outputSchema: z.object({ label: z.string() }) },
  async ({ label }, task) => {
    await task.sleep('1m');
    return { label };
  },
);

const fails = durableTool('fails', {}, async () => {
  throw new Error('The leaf broke.');
});

const lives = durableTool('lives', {}, async (_, task) => void (await task.waitForEvent('never')));

test('S2268-19: subtasks run beside each other, and their results come in the order of their start', async () => {
  const parent = durableTool('fan_out', {}, async (_, task) => {
    const subtasks = await Promise.all(['a', 'b', 'c'].map((label) => task.start(leaf, { label })));
    const results = await Promise.all(subtasks.map((subtask) => subtask.result()));
    return results.map(({ structuredContent }) => structuredContent?.label).join(' ');
  });
  for (const crashAfterEveryEntry of [false, true]) {
    const { result, task } = await runTool(parent, undefined, { tools: [leaf], crashAfterEveryEntry });
    expect(result.content[0]!.text).toBe('a b c');
    expect(task.childCount).toBe(3);
  }
});

test("a subtask's error result is a result, and the parent decides what to make of it", async () => {
  const parent = durableTool('parent', {}, async (_, task) => {
    const result = await (await task.start(fails)).result();
    return `it ${result.isError ? 'failed' : 'worked'}: ${result.content[0]!.text}`;
  });
  const { result } = await runTool(parent, undefined, { tools: [fails] });
  expect(result.content[0]!.text).toBe('it failed: The leaf broke.');
});

test('S2268-28: a parent may cancel a subtask, which then throws SubtaskCancelled to whoever waits for it', async () => {
  const parent = durableTool('parent', {}, async (_, task) => {
    const subtask = await task.start(lives);
    await subtask.cancel('Not needed.');
    try {
      await subtask.result();
    } catch (error) {
      return `${(error as Error).name}: ${(error as Error).message}`;
    }
  });
  const { result } = await runTool(parent, undefined, { tools: [lives], crashAfterEveryEntry: true });
  expect(result.content[0]!.text).toBe('SubtaskCancelled: Not needed.');
});

test('input of a subtask that does not fit is refused where it is started', async () => {
  const parent = durableTool('parent', {}, async (_, task) => {
    await task.start(leaf, { label: 7 as never });
  });
  const { result } = await runTool(parent, undefined, { tools: [leaf] });
  expect(result.content[0]!.text).toMatch(/The input of leaf does not fit its schema: label: /);
});

/** A parent with one living subtask that does what it is told next. */
async function parentWithChild(
  next: (task: { signal: AbortSignal }) => Promise<unknown>,
  deadline = '1h' as const,
) {
  const clock = new ManualClock();
  const started = Promise.withResolvers<string>();
  const parent = durableTool('parent', { deadline }, async (_, task) => {
    const subtask = await task.start(lives);
    started.resolve(subtask.id);
    await next(task);
    return 'returned';
  });
  const database = await openSqlite('memory:', { clock });
  const tasks = createTasks({ store: database, tools: [parent, lives], clock });
  await tasks.work();
  const { id } = await tasks.create(parent);
  const childId = await started.promise;
  const get = async (which: string) => (await database.store.get(which))!;
  return { clock, tasks, database, id, childId, get };
}

const finished = (task: Task) => (task.phase === 'done' ? task : undefined);

test('S2268-25: a parent that returns early stays alive until its subtask is done', async () => {
  const { tasks, id, childId, get } = await parentWithChild(async () => {});
  await until(tasks, async () => (await get(id)).phase === 'running' && 'heldOutcome' in (await get(id)));
  await tasks.sendEvent(childId, 'never');
  expect(await tasks.outcome(id)).toMatchObject({ kind: 'result', isError: false });
  await tasks.close();
});

test('S2268-26: a parent that throws ends its subtask first', async () => {
  const { tasks, id, childId, get } = await parentWithChild(async () => {
    throw new Error('Enough.');
  });
  expect(await tasks.outcome(id)).toMatchObject({ kind: 'result', isError: true });
  const [parent, child] = [finished(await get(id))!, finished(await get(childId))!];
  expect(child.outcome.kind).toBe('cancelled');
  expect(child.finishedAt).toBeLessThanOrEqual(parent.finishedAt);
  await tasks.close();
});

test('S2268-27 S2268-30: a cancelled parent is cancelled after its subtask, and its handler hears of it', async () => {
  const aborted = Promise.withResolvers<void>();
  const { tasks, id, childId, get } = await parentWithChild(async (task) => {
    task.signal.addEventListener('abort', () => aborted.resolve());
    await new Promise(() => {});
  });
  const order: string[] = [];
  await tasks.subscribe(({ taskId, events }) => {
    if (events.some(({ type }) => type === 'finished')) order.push(taskId);
  });
  await tasks.cancel(id, 'Stop.');
  await aborted.promise;
  expect(order).toEqual([childId, id]);
  expect((await get(id)) as { outcome?: unknown }).toMatchObject({
    outcome: { kind: 'cancelled', reason: 'Stop.' },
  });
  await tasks.close();
});

test('S2268-26: a parent past its deadline ends its subtask first', async () => {
  const { clock, tasks, id, childId, get } = await parentWithChild(() => new Promise(() => {}));
  clock.advance(3_600_000);
  expect(await tasks.outcome(id)).toMatchObject({
    kind: 'failure',
    message: expect.stringMatching(/deadline/),
  });
  expect(finished(await get(childId))!.outcome).toMatchObject({ kind: 'failure' });
  await tasks.close();
});

test('a handler that ignores its signal and finishes later changes nothing', async () => {
  const go = Promise.withResolvers<void>();
  const { tasks, id, get } = await parentWithChild(() => go.promise);
  const { version } = await tasks.cancel(id);
  go.resolve();
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(await get(id)).toMatchObject({ version, outcome: { kind: 'cancelled' } });
  await tasks.close();
});

test('cancelling a tree of 1,000 is one transaction: nobody ever sees a cancelled parent over a living child', async () => {
  const clock = new ManualClock();
  const wide = durableTool('wide', {}, async (_, task) => {
    await Promise.all(Array.from({ length: 999 }, () => task.start(lives)));
    await task.waitForEvent('never');
  });
  const database = await openSqlite('memory:', { clock });
  const tasks = createTasks({ store: database, tools: [wide, lives], clock });
  await tasks.work();
  const { id } = await tasks.create(wide);
  await until(tasks, async () => (await database.store.get(id))!.childCount === 999);
  const children = (await database.store.family(id))!.descendants;
  const living = new Set([id, ...children.map((child) => child.id)]);
  const broken: string[] = [];
  await tasks.subscribe(async ({ taskId, events }) => {
    if (!events.some(({ type }) => type === 'finished')) return;
    living.delete(taskId);
    if (taskId === id && living.size > 0) broken.push(`${living.size} children outlived their parent`);
  });
  const stillLiving = database.store
    .family(id)
    .then((family) => family!.descendants.filter((one) => one.phase !== 'done').length);
  await tasks.cancel(id);
  const after = (await database.store.family(id))!;
  expect(await stillLiving).toBe(999);
  expect([after.task, ...after.descendants].filter(({ phase }) => phase !== 'done')).toEqual([]);
  expect(broken).toEqual([]);
  expect(living.size).toBe(0);
  await tasks.close();
});

/** Waits for a condition, looking again after every commit. */
async function until(
  tasks: ReturnType<typeof createTasks>,
  condition: () => Promise<boolean>,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const look = () => condition().then((holds) => holds && resolve(), reject);
  const stop = await tasks.subscribe(look);
  look();
  await promise;
  stop();
}
