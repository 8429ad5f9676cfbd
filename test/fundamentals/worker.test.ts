import { expect, test } from 'vitest';
import { z } from 'zod';
import { withCommands } from '../../src/engine/database/decorator.ts';
import { toRecord } from '../../src/engine/replay/journal.ts';
import * as rules from '../../src/engine/rules/transitions.ts';
import { workerDefaults } from '../../src/engine/worker/settings.ts';
import { Worker } from '../../src/engine/worker/worker.ts';
import { createTasks, type DurableTool, durableTool, type Tasks } from '../../src/index.ts';
import type { Database } from '../../src/ports/queue.ts';
import type { Store } from '../../src/ports/store.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { ManualClock } from '../../src/testing.ts';
import { withCode } from '../kit/with-code.ts';

async function setUp(
  ...tools: DurableTool[]
): Promise<{ database: Database; tasks: Tasks; clock: ManualClock }> {
  const clock = new ManualClock();
  const database = await openSqlite('memory:', { clock });
  return { database, clock, tasks: createTasks({ store: database, tools, clock }) };
}

function gate(): {
  open: () => void;
  passed: Promise<void>;
  reached: Promise<void>;
  wait: () => Promise<void>;
} {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    open: opened.resolve,
    passed: opened.promise,
    reached: reached.promise,
    wait: () => {
      reached.resolve();
      return opened.promise;
    },
  };
}

test('a worker that stops lets a running step end, keeps its entry, and gives the task back', async () => {
  const middle = gate();
  const ran: string[] = [];
  const tool = durableTool('three_steps', {}, async (_, task) => {
    for (const name of ['one', 'two', 'three'])
      await task.step(name, async () => {
        ran.push(name);
        if (name === 'two') await middle.wait();
      });
    return 'done';
  });
  const { tasks } = await setUp(tool);
  const first = await tasks.work();
  const { id } = await tasks.create(tool);
  await middle.reached;
  const stopped = first.stop();
  middle.open();
  await stopped;
  expect(ran).toEqual(['one', 'two']);
  expect(await tasks.get(id)).toMatchObject({ phase: 'running' });
  expect(await tasks.get(id)).not.toHaveProperty('worker');
  await tasks.work();
  expect(await tasks.outcome(id)).toMatchObject({ kind: 'result', isError: false });
  expect(ran).toEqual(['one', 'two', 'three']);
  await tasks.close();
});

test('a step that does not end within the grace time is told to stop, and nothing of it is journaled', async () => {
  const told: string[] = [];
  const begun = gate();
  const tool = durableTool('stubborn', {}, async (_, task) => {
    return await task.step('stubborn', ({ signal }) =>
      task.pass > 1
        ? 'at last'
        : new Promise<string>((_, reject) => {
            void begun.wait();
            signal.addEventListener('abort', () => {
              told.push('abort');
              reject(new Error('Aborted.'));
            });
          }),
    );
  });
  const { tasks, database } = await setUp(tool);
  const worker = await tasks.work({ grace: '20ms' });
  const { id } = await tasks.create(tool);
  await begun.reached;
  await worker.stop();
  expect(told).toEqual(['abort']);
  expect(await database.store.journal(id)).toHaveLength(1);
  await tasks.work();
  expect(await tasks.outcome(id)).toMatchObject({ value: { content: [{ text: 'at last' }] } });
  await tasks.close();
});

test('a worker runs as many tasks at a time as it may, and of a tool no more than the tool allows', async () => {
  const running = { free: 0, narrow: 0 };
  const most = { free: 0, narrow: 0 };
  const busy =
    (name: keyof typeof running) => async (_: unknown, task: Parameters<DurableTool['handler']>[1]) => {
      await task.step('work', async () => {
        most[name] = Math.max(most[name], ++running[name]);
        await new Promise((resolve) => setTimeout(resolve, 5));
        running[name]--;
      });
    };
  const free = durableTool('free', {}, busy('free'));
  const narrow = durableTool('narrow', { concurrency: 2 }, busy('narrow'));
  const { tasks } = await setUp(free, narrow);
  const made = await Promise.all(Array.from({ length: 40 }, (_, n) => tasks.create(n % 2 ? free : narrow)));
  await tasks.work({ concurrency: 6 });
  await Promise.all(made.map(({ id }) => tasks.outcome(id)));
  expect(most.narrow).toBe(2);
  expect(most.free).toBeGreaterThan(2);
  expect(most.free + most.narrow).toBeLessThanOrEqual(6 + 2);
  await tasks.close();
});

test('a handler that reports ten thousand times costs a few commits, and its last word is kept', async () => {
  const tool = durableTool('chatty', {}, async (_, task) => {
    for (let n = 1; n <= 10_000; n++) {
      task.progress(n, 10_000);
      task.setStatusMessage(`at ${n}`);
    }
  });
  const { tasks } = await setUp(tool);
  const { id } = await tasks.create(tool);
  await tasks.work();
  await tasks.outcome(id);
  const task = (await tasks.get(id))!;
  expect(task).toMatchObject({ statusMessage: 'at 10000', progress: { done: 10_000, total: 10_000 } });
  expect(task.version).toBeLessThan(8);
  await tasks.close();
});

test('what a handler says while a long step runs is seen meanwhile', async () => {
  const long = gate();
  const tool = durableTool('talks', {}, async (_, task) => {
    task.setStatusMessage('Working on it');
    task.setPollInterval('3s');
    await task.step('long', () => long.wait());
  });
  const { tasks } = await setUp(tool);
  await tasks.work();
  const { id } = await tasks.create(tool);
  await until(tasks, async () => (await tasks.get(id))!.statusMessage === 'Working on it');
  expect(await tasks.get(id)).toMatchObject({ phase: 'running', pollMs: 3_000 });
  long.open();
  await tasks.outcome(id);
  await tasks.close();
});

test("a rejection that nobody awaits ends that handler's task, and the worker goes on", async () => {
  const careless = durableTool('careless', {}, async (_, task) => {
    void Promise.reject(new Error('Forgotten.'));
    await task.waitForEvent('never');
  });
  const sound = durableTool('sound', {}, async () => 'fine');
  const { tasks } = await setUp(careless, sound);
  await tasks.work();
  const [first, second] = [await tasks.create(careless), await tasks.create(sound)];
  expect(await tasks.outcome(first.id)).toMatchObject({
    isError: true,
    value: { content: [{ text: 'Forgotten.' }] },
  });
  expect(await tasks.outcome(second.id)).toMatchObject({ isError: false });
  await tasks.close();
});

test('a changed handler never mis-replays: the task waits, and the old handler finishes it', async () => {
  const rename = (name: string) =>
    durableTool('changes', {}, async (_, task) => {
      await task.step('one', () => 1);
      await task.waitForEvent('go');
      return await task.step(name, () => name);
    });
  const old = rename('two');
  const changed = durableTool('changes', {}, async (_, task) => {
    await task.step('uno', () => 1);
    return 'never';
  });
  const { database, tasks, clock } = await setUp(old);
  const worker = await tasks.work();
  const { id } = await tasks.create(old);
  await until(tasks, async () => (await database.store.journal(id)).length === 3);
  await worker.stop();
  await tasks.sendEvent(id, 'go');

  const wrong = createTasks({ store: database, tools: [changed], clock });
  const wrongWorker = await wrong.work();
  await until(tasks, async () => (await tasks.get(id))!.blocked !== undefined);
  expect((await tasks.get(id))!.statusMessage).toBe(
    'Waiting for a worker with the handler that began this task: in changes version 1, the journal has task.step("one"), but the handler now calls task.step("uno").',
  );
  await wrongWorker.stop();

  await tasks.work();
  clock.advance(5_000);
  expect(await tasks.outcome(id)).toMatchObject({ value: { content: [{ text: 'two' }] } });
  expect(await tasks.get(id)).not.toHaveProperty('blocked');
  await tasks.close();
});

test('arguments that no longer fit the schema of their tool wait too', async () => {
  const before = durableTool(
    'schema',
    { inputSchema: z.object({ n: z.number() }) },
    async ({ n }) => `n is ${n}`,
  );
  const after = durableTool('schema', { inputSchema: z.object({ m: z.string() }) }, async () => 'never');
  const { database, tasks, clock } = await setUp(before);
  const { id } = await tasks.create(before, { n: 1 });
  const wrong = createTasks({ store: database, tools: [after], clock });
  const worker = await wrong.work();
  await until(tasks, async () => (await tasks.get(id))!.blocked !== undefined);
  expect((await tasks.get(id))!.statusMessage).toMatch(/the input of schema does not fit its schema at m\./);
  await worker.stop();
  await tasks.work();
  clock.advance(5_000);
  expect(await tasks.outcome(id)).toMatchObject({ value: { content: [{ text: 'n is 1' }] } });
  await tasks.close();
});

test('tasks of a version that no worker knows wait for one that does', async () => {
  const v1 = durableTool('tool', { version: '1' }, async () => 'from 1');
  const v2 = durableTool('tool', { version: '2' }, async () => 'from 2');
  const { database, tasks, clock } = await setUp(v1);
  const { id } = await tasks.create(v1);
  const newer = createTasks({ store: database, tools: [v2], clock });
  const worker = await newer.work();
  const { id: other } = await newer.create('tool');
  expect(await newer.outcome(other)).toMatchObject({ value: { content: [{ text: 'from 2' }] } });
  expect(await tasks.get(id)).toMatchObject({ phase: 'queued' });
  clock.advance(120_000);
  await until(tasks, async () => (await tasks.get(id))!.statusMessage !== undefined);
  expect((await tasks.get(id))!.statusMessage).toBe(
    'Waiting for a worker with tool version 1: no worker has claimed this task so far.',
  );
  await worker.stop();
  const both = createTasks({ store: database, tools: [v1, v2], clock });
  await both.work();
  expect(await both.outcome(id)).toMatchObject({ value: { content: [{ text: 'from 1' }] } });
  await both.close();
});

test('a task whose process dies again and again runs once more alone, and is then given up', async () => {
  const started: number[] = [];
  const tool = durableTool('poison', { maxCrashes: 2 }, async (_, task) => {
    started.push(task.pass);
    await task.step('never ends', () => new Promise(() => {}));
  });
  const { database, tasks, clock } = await setUp(tool);
  const { id } = await tasks.create(tool);
  // Found dead by the next worker, it rests before it is claimed.
  const rest = async (deaths: number) => {
    new Worker(dying(), clock, [tool], workerDefaults);
    await until(tasks, async () => (await tasks.get(id))!.crashes === deaths);
    clock.advance(2_000);
  };
  // A worker that is abandoned without a word, and found dead by the next, which is another process.
  let processes = 0;
  const { store } = database;
  const claim: Store['claim'] = async (query, decide) => {
    const task = await store.get(id);
    const holder = task?.phase !== 'done' ? task?.worker?.name : undefined;
    if (!holder) return store.claim(query, decide);
    const change = await store.update('task', id, (now) => decide(now, { name: holder }));
    return { claimed: [{ change }], failed: [] };
  };
  const dying = (): Database => ({
    ...withCommands(database, { claim }),
    queue: {
      name: `${database.queue.name} ${++processes}`,
      isAlive: (...args) => database.queue.isAlive(...args),
      renew: (...args) => database.queue.renew(...args),
      isolate: (claim) => database.queue.isolate(claim),
      orphans: async () => [],
      backlog: (...args) => database.queue.backlog(...args),
      onWork: () => () => {},
    },
  });
  for (let pass = 1; pass <= 4; pass++) {
    if (pass > 1) await rest(pass - 1);
    new Worker(dying(), clock, [tool], workerDefaults);
    await until(tasks, async () => started.length === pass && (await tasks.get(id))!.epoch === pass);
  }
  await rest(4);
  new Worker(dying(), clock, [tool], workerDefaults);
  expect(await tasks.outcome(id)).toMatchObject({
    kind: 'failure',
    message: expect.stringMatching(/4 times in a row .*, the last 2 times while it ran alone/),
  });
  expect(started).toEqual([1, 2, 3, 4]);
});

test('an idempotency key makes one task of many calls', async () => {
  const tool = durableTool('once', {}, async () => 'ran');
  const { tasks } = await setUp(tool);
  const made = await Promise.all(
    [1, 2, 3].map(() => tasks.create('once', { a: 1, b: 2 }, { idempotencyKey: 'k' })),
  );
  const reordered = await tasks.create('once', { b: 2, a: 1 }, { idempotencyKey: 'k' });
  expect(new Set([...made, reordered].map(({ id }) => id)).size).toBe(1);
  await expect(tasks.create('once', { a: 2 }, { idempotencyKey: 'k' })).rejects.toThrow(
    withCode('IDEMPOTENCY_KEY_REUSED'),
  );
  await tasks.close();
});

test('an unknown tool and a tool registered twice are named', async () => {
  const tool = durableTool('known', {}, async () => 'x');
  const { tasks } = await setUp(tool);
  await expect(tasks.create('unknown')).rejects.toThrow('Unknown durable tool "unknown". Known: known.');
  expect(() => createTasks({ store: async () => ({}) as never, tools: [tool, tool] })).toThrow(
    /two durable tools "known"/,
  );
  expect(() => durableTool('no blanks', {}, async () => 'x')).toThrow(withCode('INVALID_TOOL'));
  await tasks.close();
});

/** Waits for a condition, looking again after every commit. */
async function until(tasks: Tasks, condition: () => Promise<boolean>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const look = () => condition().then((holds) => holds && resolve(), reject);
  const stop = await tasks.subscribe(look);
  const timer = setInterval(look, 5);
  await promise;
  clearInterval(timer);
  stop();
}

test('a journal that no handler can have written holds its task, and harms no worker', async () => {
  const tool = durableTool('torn', {}, async (_, task) => task.step('first', () => 'one'));
  const { database, tasks, clock } = await setUp(tool);
  const { id } = await tasks.create(tool);
  const holder = { name: 'somebody', leaseMs: 0 };
  const { task } = await database.store.update('task', id, (now) => rules.claim(now, holder, clock.now()));
  const entry = toRecord({
    moment: clock.now(),
    settled: 0,
    calls: [{ kind: 'step', name: 'first', at: 0 }],
    entries: [{ call: 3, ok: true, value: 1 }],
    attempts: [],
  });
  await database.store.update('task', id, (now) =>
    rules.record(now, { taskId: id, epoch: task.epoch }, [entry], clock.now()),
  );
  clock.advance(1);
  await tasks.work();
  await until(tasks, async () => (await tasks.get(id))!.blocked !== undefined);
  expect((await tasks.get(id))!.blocked!.message).toContain('settles call 3, which was not made before');
  await tasks.close();
});

test('a mistyped option, or a retry policy that is a number, is refused when the tool is defined', () => {
  const handler = async () => 'ran';
  expect(() => durableTool('tool', { retries: 3 } as never, handler)).toThrow(
    /^Unknown option "retries"\. Known options: .*retry/,
  );
  expect(() => durableTool('tool', { retry: 3 } as never, handler)).toThrow(
    'retry must be an object such as { attempts: 3 }, not 3.',
  );
});
