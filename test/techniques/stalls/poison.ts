/** Tasks that take their process with them, in the short lane with few deaths and a short lease. */
import { describe, expect, test } from 'vitest';
import type { Outcome, WorkOptions } from '../../../src/index.ts';
import { until } from '../../kit/until.ts';
import { assertsBounds, expectWithin } from '../../kit/within.ts';
import { Scene, type StoreName, type Worker } from './scene.ts';
import { supervise } from './supervisor.ts';

export interface PoisonLane {
  readonly work: WorkOptions;
  readonly leaseMs: number;
  readonly graceMs: number;
  /** As the tools say it, or by default. */
  readonly maxCrashes: number;
  readonly timeout: number;
}

/** What `close` may take beyond its grace time: its last commits, on a busy machine. */
const closingMs = 3_000;
/** A little less than the engine lets a task rest after it took its process with it. */
const restMs = 1_900;
const reason = /\b(died|ended|exited|crashed|killed|blocked|stopped responding|stood still)\b/i;

export function poisonTests(store: StoreName, lane: PoisonLane): void {
  const { work, leaseMs, graceMs, maxCrashes, timeout } = lane;
  const settings = { work: { ...work, watchdog: 'exit' }, maxCrashes } as const;
  /** The watchdog ends a blocked worker after two leases: the supervisor is there in case that it does not. */
  const blockedMs = 8 * leaseMs;
  const mostPasses = maxCrashes + 2;
  /** Each pass of a bad task may cost a blocked process, its restart, and a lease. */
  const endsWithinMs = 2 * mostPasses * (4 * leaseMs + (assertsBounds ? 3_000 : 30_000));

  describe(`on ${store}`, { timeout }, () => {
    test('of four tasks one kills its process and one blocks it: these fail, the others finish', async () => {
      await using scene = await Scene.on(store, settings);
      const [deadly] = await scene.create('deadly');
      const good = await scene.create('steady', 2);
      const [blocking] = await scene.create('blocking');
      const supervisor = supervise(scene, 1, blockedMs);
      try {
        const outcomes = await scene.outcomes([deadly!, blocking!, ...good], endsWithinMs);
        for (const id of good) expect(outcomes.get(id)).toMatchObject({ kind: 'result', isError: false });
        for (const id of [deadly!, blocking!]) {
          expect(outcomes.get(id)).toMatchObject({ kind: 'failure' });
          expect(messageOf(outcomes.get(id))).toMatch(reason);
          const passes = scene.lines().filter(({ task, what }) => task === id && what === 'began');
          expect(passes.length).toBeLessThanOrEqual(mostPasses);
        }
        const later = await scene.create('quick');
        expect([...(await scene.returned(later)).values()]).not.toContain(undefined);

        supervisor.stop();
        const [worker] = supervisor.workers();
        expectWithin(graceMs + closingMs, await closingTime(worker!));
      } finally {
        supervisor.stop();
      }
    });

    test('a worker that holds suspects closes within its grace time', async () => {
      // The lease is long, so that only deaths free its tasks: after two of them all three are suspects.
      await using scene = await Scene.on(store, { work: { ...work, lease: '15s' }, maxCrashes: 1 });
      const suspects = await scene.create('hold', 3);
      const haveBegun = (times: number) => () =>
        suspects.every((id) => scene.lines().filter(({ task }) => task === id).length >= times);
      for (const times of [1, 2]) {
        const [worker] = await scene.start(1);
        await until(haveBegun(times));
        await worker!.kill();
      }
      const [third] = await scene.start(1);
      const isAlone = () => scene.lines().some(({ pid }) => pid === third!.pid);
      await until(isAlone);
      expectWithin(graceMs + closingMs, await closingTime(third!));
    });

    test.each(['deadly', 'blocking'] as const)(
      'of three workers a %s task takes down at most one at a time',
      async (bad) => {
        await using scene = await Scene.on(store, settings);
        const supervisor = supervise(scene, 3, blockedMs);
        try {
          await Promise.all(supervisor.workers().map(({ ready }) => ready));
          const [id] = await scene.create(bad);
          const good = await scene.create('steady', 6);
          const outcomes = await scene.outcomes([id!, ...good], endsWithinMs);
          const begun = scene.lines().filter(({ task, what }) => task === id && what === 'began');
          for (const [index, { at }] of begun.slice(1).entries())
            expect(at - begun[index]!.at).toBeGreaterThan(restMs);
          // Whether a process is back after the rest depends on the machine.
          if (assertsBounds) expect(supervisor.overlaps()).toEqual([]);
          expect(outcomes.get(id!)).toMatchObject({ kind: 'failure' });
          for (const one of good) expect(outcomes.get(one)).toMatchObject({ kind: 'result', isError: false });
        } finally {
          supervisor.stop();
        }
      },
    );
  });
}

async function closingTime(worker: Worker): Promise<number> {
  await worker.ready;
  return worker.do('close');
}

function messageOf(outcome: Outcome | undefined): string {
  return outcome?.kind === 'failure' ? outcome.message : '';
}
