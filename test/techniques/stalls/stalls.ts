/** The scenes of all lanes: they differ in the lease, and in how long a stall lasts. */
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { TaskId, WorkOptions } from '../../../src/index.ts';
import { until } from '../../kit/until.ts';
import { Scene, type StoreName, type Worker } from './scene.ts';
import { stepProblems } from './step-lines.ts';

export interface Lane {
  readonly work: WorkOptions;
  readonly leaseMs: number;
  /** One test for each list; the stalls of a list follow each other. */
  readonly stallsMs: readonly (readonly number[])[];
  /** One test for each list; the clock is set to the true time plus so many hours, again and again. */
  readonly jumps: readonly (readonly number[])[];
  readonly timeout: number;
  /** Only what one worker alone does after it was stopped, or after its clock was moved. */
  readonly isBrief?: boolean;
}

const hourMs = 3_600_000;
const crew = 3;
/** How soon tasks end that nothing holds up; generous, because the machine may be busy. */
const soonMs = 60_000;

/**
 * Between stalls, in leases. A stall puts the timers of a process in step, so the pause after it decides which of them
 * is due first when the next stall ends.
 */
const pauses = [0.7, 0.9, 0.5];

const kinds = [
  ['is stopped', (worker: Worker, ms: number) => worker.stopFor(ms)],
  ['blocks its event loop', (worker: Worker, ms: number) => worker.blockFor(ms)],
] as const;

export function stallTests(
  store: StoreName,
  { work, leaseMs, stallsMs, jumps, timeout, isBrief = false }: Lane,
): void {
  const stalls = (isBrief ? kinds.slice(0, 1) : kinds).flatMap(([kind, stall]) =>
    stallsMs.map((list) => ({
      title: `${kind} for ${list.map((ms) => ms / 1_000).join(', ')} s`,
      stall: async (worker: Worker) => {
        for (const [index, ms] of list.entries()) {
          await stall(worker, ms);
          await pause(leaseMs * pauses[index % pauses.length]!);
        }
      },
    })),
  );
  const moves = jumps.map((list) => ({
    title: `${list.map((hours) => `${hours > 0 ? '+' : ''}${hours}`).join(', ')} h`,
    jump: async (workers: readonly Worker[]) => {
      for (const hours of list) {
        for (const worker of workers) worker.moveClock(hours * hourMs);
        await pause(1.5 * leaseMs);
      }
    },
  }));
  /** Enough for a lease that is not renewed to run out, and for its task to be claimed again. */
  const severalLeases = () => pause(3.5 * leaseMs);

  describe(`on ${store}`, { timeout }, () => {
    describe('a worker that is alone', () => {
      for (const { title, stall } of stalls)
        test(`and ${title} keeps its steps and its claims`, async () => {
          await using scene = await Scene.on(store, { work });
          const [worker] = await scene.start(1);
          const held = await holdSeveral(scene);
          await stall(worker!);
          await severalLeases();
          await expectAllKept(scene, held);
        });

      for (const { title, jump } of moves)
        test(`and whose clock is off by ${title} keeps its steps and its claims`, async () => {
          await using scene = await Scene.on(store, { work });
          const workers = await scene.start(1);
          const held = await holdSeveral(scene);
          await jump(workers);
          await severalLeases();
          await expectAllKept(scene, held);
        });
    });

    if (isBrief) return;

    describe('of three workers', () => {
      for (const { title, stall } of stalls)
        test(`one ${title}: the others take no task but its own`, async () => {
          await using scene = await Scene.on(store, { work });
          const workers = await scene.start(crew);
          const held = await scene.holdOneInEach(workers);
          await stall(workers[0]!);
          await severalLeases();
          await expectTakenOnlyFrom(scene, held, workers[0]!);
        });

      for (const { title, jump } of moves)
        test(`one whose clock is off by ${title} takes no task and loses none`, async () => {
          await using scene = await Scene.on(store, { work });
          const workers = await scene.start(crew);
          const held = await scene.holdOneInEach(workers);
          await jump(workers.slice(0, 1));
          await severalLeases();
          await expectAllKept(scene, held);
        });

      for (const { title, jump } of moves)
        test(`each keeps its tasks when the clocks of all are off by ${title}`, async () => {
          await using scene = await Scene.on(store, { work });
          const workers = await scene.start(crew);
          const held = await scene.holdOneInEach(workers);
          await jump(workers);
          await severalLeases();
          await expectAllKept(scene, held);
        });
    });

    test('a worker whose clock is behind by an hour runs tasks that are ready at once', async () => {
      await using scene = await Scene.on(store, { work });
      const ready = await scene.create('quick', 3);
      const [worker] = await scene.start(1, { clockMs: -hourMs });
      const first = await scene.returned(ready, soonMs);
      expect(stepProblems(scene.lines(), first)).toEqual([]);
      worker!.moveClock(-2 * hourMs);
      const later = await scene.create('quick', 3);
      const returned = await scene.returned(later, soonMs);
      expect(stepProblems(scene.lines(), returned)).toEqual([]);
    });
  });
}

async function holdSeveral(scene: Scene): Promise<TaskId[]> {
  const held = await scene.create('hold', 3);
  await until(() => held.every((id) => scene.lines().some(({ task }) => task === id)));
  return held;
}

/** Every step ran once, under the first claim of its task; and tasks created afterwards run too. */
async function expectAllKept(scene: Scene, held: readonly TaskId[]): Promise<void> {
  await expectTakenOnlyFrom(scene, held);
  expect(scene.recovered).toEqual([]);
  expect(await scene.claims(held)).toEqual(held.map(() => 1));
}

async function expectTakenOnlyFrom(scene: Scene, held: readonly TaskId[], stalled?: Worker): Promise<void> {
  const later = await scene.create('quick', 2);
  const created = await scene.returned(later, soonMs);
  scene.release();
  const returned = await scene.returned(held, soonMs);
  const lines = scene.lines();
  const pids = new Set(stalled ? [stalled.pid] : []);
  expect(stepProblems(lines, new Map([...created, ...returned]), pids)).toEqual([]);
  // The log may not tell of a take-over that the lines do not show.
  const ofStalled = new Set(lines.filter(({ pid }) => pids.has(pid)).map(({ task }) => task));
  expect(scene.recovered.filter((task) => !ofStalled.has(task))).toEqual([]);
}
