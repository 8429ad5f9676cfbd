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
        for (const worker of workers) void worker.do('moveClock', hours * hourMs);
        await pause(1.5 * leaseMs);
      }
    },
  }));
  /** Enough for a lease that is not renewed to run out, and for its task to be claimed again. */
  const severalLeases = () => pause(3.5 * leaseMs);

  describe(`on ${store}`, { timeout }, () => {
    /** Workers hold tasks, something happens to the workers, and several leases later all is judged. */
    const happens = (
      title: string,
      size: number,
      act: (workers: readonly Worker[]) => Promise<void>,
      judge: (scene: Scene, held: readonly TaskId[], first: Worker) => Promise<void> = expectAllKept,
    ) =>
      test(title, async () => {
        await using scene = await Scene.on(store, { work });
        const workers = await scene.start(size);
        const held = await (size === 1 ? holdSeveral(scene) : scene.holdOneInEach(workers));
        await act(workers);
        await severalLeases();
        await judge(scene, held, workers[0]!);
      });

    describe('a worker that is alone', () => {
      for (const { title, stall } of stalls)
        happens(`and ${title} keeps its steps and its claims`, 1, ([only]) => stall(only!));
      for (const { title, jump } of moves)
        happens(`and whose clock is off by ${title} keeps its steps and its claims`, 1, jump);
    });

    if (isBrief) return;

    describe('of three workers', () => {
      for (const { title, stall } of stalls) {
        const first = ([worker]: readonly Worker[]) => stall(worker!);
        happens(`one ${title}: the others take no task but its own`, crew, first, expectTakenOnlyFrom);
      }
      for (const { title, jump } of moves) {
        const first = (workers: readonly Worker[]) => jump(workers.slice(0, 1));
        happens(`one whose clock is off by ${title} takes no task and loses none`, crew, first);
        happens(`each keeps its tasks when the clocks of all are off by ${title}`, crew, jump);
      }
    });

    test('a worker whose clock is behind by an hour runs tasks that are ready at once', async () => {
      await using scene = await Scene.on(store, { work });
      const ready = await scene.create('quick', 3);
      const [worker] = await scene.start(1, { clockMs: -hourMs });
      const first = await scene.returned(ready);
      expect(stepProblems(scene.lines(), first)).toEqual([]);
      await worker!.do('moveClock', -2 * hourMs);
      const later = await scene.create('quick', 3);
      const returned = await scene.returned(later);
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
  const created = await scene.returned(later);
  scene.release();
  const returned = await scene.returned(held);
  const lines = scene.lines();
  const pids = new Set(stalled ? [stalled.pid] : []);
  expect(stepProblems(lines, new Map([...created, ...returned]), pids)).toEqual([]);
  // The log may not tell of a take-over that the lines do not show.
  const ofStalled = new Set(lines.filter(({ pid }) => pids.has(pid)).map(({ task }) => task));
  expect(scene.recovered.filter((task) => !ofStalled.has(task))).toEqual([]);
}
