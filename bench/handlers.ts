/** The cost of handlers: a step compared with its bare commit, a task with two, and many waiting tasks. */

import { fork } from 'node:child_process';
import { join } from 'node:path';
import * as rules from '../src/engine/rules/transitions.ts';
import { createTasks, durableTool } from '../src/index.ts';
import type { Change } from '../src/ports/change.ts';
import { openSqlite } from '../src/sqlite.ts';
import { aTask } from '../src/testing/fixtures.ts';
import { BareLoop, bind } from './bare.ts';
import { inFolder } from './folder.ts';
import { interleave, type Operation, type Side } from './measure.ts';
import type { Comparison, Findings, Suite, Target } from './report.ts';

export const handlers: Suite = {
  name: 'handlers',
  run: ({ quick }) =>
    inFolder(async (folder) => {
      const step = await compareSteps(folder, quick ? 20 : 300);
      const whole = await compareWholeTasks(folder, quick ? 4 : 40);
      const waiting = await measureWaiting(folder, quick ? 2_000 : 100_000);
      const sleeping = await measureSleepers(folder, quick ? 500 : 10_000);
      return {
        comparisons: [step, whole.comparison],
        rates: whole.rates,
        targets: [
          {
            what: 'a step, next to its bare commit',
            measured: step.holdfast.p50 / step.baseline.p50,
            atMost: 2,
          },
          whole.target,
          ...waiting,
          ...sleeping,
        ],
      } satisfies Findings;
    }),
};

async function compareSteps(folder: string, rounds: number): Promise<Comparison> {
  // A handler runs the operations one by one. It has no other open calls, so it may await them freely.
  const wanted: (() => void)[] = [];
  let arrived = Promise.withResolvers<void>();
  const want = () =>
    new Promise<void>((done) => {
      wanted.push(done);
      arrived.resolve();
    });
  const tool = durableTool('steps', { maxJournalEntries: 1e9 }, async (_, task) => {
    for (let n = 0; ; n++) {
      await arrived.promise;
      arrived = Promise.withResolvers();
      const done = wanted.shift()!;
      await task.step(`step ${n}`, () => n);
      done();
    }
  });
  const tasks = createTasks({ store: () => openSqlite(join(folder, 'steps.db')), tools: [tool] });
  await tasks.work();
  await tasks.create(tool);
  await want();
  const bare = await bareSide(folder, 'bare-steps.db');
  const timings = await interleave(
    {
      holdfast: { prepare: (count) => Array.from({ length: count }, (): Operation => want) },
      baseline: bare.steps,
    },
    { rounds, chunk: 10 },
  );
  await tasks.close();
  bare.close();
  return { what: 'a step', stored: 1, ...timings };
}

/** Writes the same rows in a bare loop: the commit of a step, and the two commits of an empty task. */
async function bareSide(folder: string, name: string): Promise<{ steps: Side; tasks: Side; close(): void }> {
  const file = join(folder, name);
  const seed = await openSqlite(file);
  const request = aTask();
  const worker = { name: 'bench', leaseMs: 15_000 };
  const { task } = await seed.store.create(undefined, () =>
    rules.create(undefined, request, Date.now(), worker),
  );
  await seed.close();
  const loop = new BareLoop(file);
  const claim = { taskId: task.id, epoch: 1 };
  const written = (verdict: Change) => bind(verdict.writes[0]!);
  const batch = {
    moment: Date.now(),
    settled: 1,
    calls: [{ kind: 'step', name: 'step 1', at: 1 }],
    entries: [{ call: 1, ok: true, value: 1 }],
    attempts: [],
  };
  const step = written(rules.record(task, claim, [batch], Date.now()) as Change);
  return {
    steps: { prepare: (count) => Array.from({ length: count }, () => () => loop.update(task.id, step)) },
    tasks: {
      prepare: (count) =>
        Array.from({ length: count }, () => {
          const one = aTask();
          const made = rules.create(undefined, one, Date.now(), worker) as Change;
          const outcome = { kind: 'result', isError: false, value: { content: [] } } as const;
          const done = rules.complete(
            { task: made.task, ancestors: [] },
            { taskId: one.id, epoch: 1 },
            outcome,
            Date.now(),
          );
          const [first, second] = [written(made), written(done as Change)];
          return () => {
            loop.create(first);
            loop.update(one.id, second);
          };
        }),
    },
    close: () => loop.close(),
  };
}

async function compareWholeTasks(folder: string, rounds: number) {
  const tool = durableTool('nothing', {}, async () => undefined);
  const tasks = createTasks({ store: () => openSqlite(join(folder, 'whole.db')), tools: [tool] });
  await tasks.work({ concurrency: 64 });
  const crowd = 256;
  const burst = async () => {
    await Promise.all(
      Array.from({ length: crowd }, async () => tasks.outcome((await tasks.create(tool)).id)),
    );
  };
  const bare = await bareSide(folder, 'bare-whole.db');
  const timings = await interleave(
    {
      holdfast: { prepare: (): Operation[] => [burst] },
      baseline: {
        prepare: async () => {
          const operations = await bare.tasks.prepare(crowd);
          return [() => operations.forEach((operation) => void operation())];
        },
      },
    },
    { rounds, chunk: 1 },
  );
  await tasks.close();
  bare.close();
  const perSecond = (us: number) => (crowd / us) * 1e6;
  const target: Target = {
    what: 'tasks from create to done, next to two bare commits each',
    measured: timings.baseline.p50 / timings.holdfast.p50,
    atLeast: 0.5,
  };
  return {
    comparison: { what: `${crowd} tasks that do nothing`, stored: crowd, ...timings },
    rates: [
      { what: 'tasks from create to done', stored: crowd, perSecond: perSecond(timings.holdfast.p50) },
      { what: 'two bare commits', stored: crowd, perSecond: perSecond(timings.baseline.p50) },
    ],
    target,
  };
}

interface Waiting {
  readonly addedMb: number;
  readonly cpuShare: number;
  readonly answerP99Ms: number;
}

async function measureWaiting(folder: string, count: number): Promise<Target[]> {
  const file = join(folder, 'waiting.db');
  await inChild('fill', file, count);
  const empty = await inChild<{ rssMb: number }>('idle', join(folder, 'empty.db'), 0);
  const waiting = await inChild<Waiting & { rssMb: number }>('answer', file, count);
  return [
    {
      what: `${count.toLocaleString('en')} tasks waiting for answers add to resident memory`,
      measured: waiting.rssMb - empty.rssMb,
      unit: 'MB',
      atMost: 64,
    },
    { what: '… and take of one CPU', measured: waiting.cpuShare * 100, unit: '%', atMost: 3 },
    {
      what: '… and one that is answered is done within (p99 of 200, best of three)',
      measured: waiting.answerP99Ms,
      unit: 'ms',
      atMost: 50,
    },
  ];
}

async function measureSleepers(folder: string, count: number): Promise<Target[]> {
  const { claimableS, doneS } = await inChild<{ claimableS: number; doneS: number }>(
    'sleep',
    join(folder, 'sleep.db'),
    count,
  );
  return [
    {
      what: `${count.toLocaleString('en')} tasks sleeping to the same second are claimable after`,
      measured: claimableS,
      unit: 's',
      atMost: 5,
    },
    { what: '… and done after', measured: doneS, unit: 's', atMost: 30 },
  ];
}

/** Measures in a separate process, so that memory and CPU time are those of the worker alone. */
function inChild<T>(what: string, file: string, count: number): Promise<T> {
  const child = fork(join(import.meta.dirname, 'waiting.ts'), [what, file, String(count)], {
    execArgv: ['--expose-gc'],
  });
  return new Promise((resolve, reject) => {
    child.on('message', (message) => resolve(message as T));
    child.on('exit', (code) =>
      reject(new Error(`bench/waiting.ts ${what} ended with ${code} before it answered.`)),
    );
  });
}
