/** Keeps workers running, as a platform does: restarts each one that ends, and kills one whose event loop stands still. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Scene, Worker } from './scene.ts';
import { moment } from './step-lines.ts';

interface Slot {
  readonly worker: Worker;
  lastBeat: number;
  isReady: boolean;
}

const restartMs = 50;

/** A worker that gives no sign of life for `blockedMs` is killed. */
export function supervise(scene: Scene, size: number, blockedMs: number) {
  /** From the last sign of life of a worker to the moment at which its successor was ready. */
  const outages: { readonly slot: number; readonly from: number; readonly until: number }[] = [];
  const slots: Slot[] = [];
  let isOver = false;
  const start = (slot: number) => {
    const before = slots[slot];
    const worker = scene.worker((said) => {
      if (said.kind === 'ready') {
        state.isReady = true;
        if (before) outages.push({ slot, from: before.lastBeat, until: moment() });
      }
      if (said.kind === 'ready' || said.kind === 'alive') state.lastBeat = moment();
    });
    const state: Slot = { worker, lastBeat: moment(), isReady: false };
    slots[slot] = state;
    void worker.exit.then(async () => {
      await pause(restartMs);
      if (!isOver) start(slot);
    });
  };
  for (let slot = 0; slot < size; slot++) start(slot);
  const looking = setInterval(() => {
    for (const { worker, lastBeat, isReady } of slots)
      if (isReady && moment() - lastBeat > blockedMs) void worker.kill();
  }, 100);
  return {
    workers: (): readonly Worker[] => slots.map(({ worker }) => worker),

    /** Outages of different workers that overlap. */
    overlaps: () =>
      outages.flatMap((one, index) =>
        outages
          .slice(index + 1)
          .filter((other) => other.slot !== one.slot && other.from < one.until && one.from < other.until)
          .map((other) => [one, other] as const),
      ),

    stop: (): void => {
      isOver = true;
      clearInterval(looking);
    },
  };
}
