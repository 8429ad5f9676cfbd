/** Keeps workers running, as a platform does: restarts each one that ends, and kills one whose event loop stands still. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Scene, Worker } from './scene.ts';
import { moment } from './step-lines.ts';

/** From the last sign of life of a worker to the moment at which its successor was ready. */
export interface Outage {
  readonly slot: number;
  readonly from: number;
  readonly until: number;
}

interface Slot {
  worker: Worker;
  lastBeat: number;
  isReady: boolean;
}

const restartMs = 50;

export class Supervisor {
  readonly outages: Outage[] = [];
  readonly #scene: Scene;
  readonly #blockedMs: number;
  readonly #slots: Slot[] = [];
  readonly #looking: NodeJS.Timeout;
  #isOver = false;

  /** A worker that gives no sign of life for `blockedMs` is killed. */
  constructor(scene: Scene, size: number, blockedMs: number) {
    this.#scene = scene;
    this.#blockedMs = blockedMs;
    for (let slot = 0; slot < size; slot++) this.#start(slot);
    this.#looking = setInterval(() => this.#killBlocked(), 100);
  }

  get workers(): readonly Worker[] {
    return this.#slots.map(({ worker }) => worker);
  }

  /** Outages of different workers that overlap. */
  get overlaps(): (readonly [Outage, Outage])[] {
    return this.outages.flatMap((one, index) =>
      this.outages
        .slice(index + 1)
        .filter((other) => other.slot !== one.slot && other.from < one.until && one.from < other.until)
        .map((other) => [one, other] as const),
    );
  }

  /** Restarts nothing any more. */
  stop(): void {
    this.#isOver = true;
    clearInterval(this.#looking);
  }

  #start(slot: number): void {
    const worker = this.#scene.worker((said) => {
      if (said.kind === 'ready') {
        state.isReady = true;
        if (before) this.outages.push({ slot, from: before.lastBeat, until: moment() });
      }
      if (said.kind === 'ready' || said.kind === 'alive') state.lastBeat = moment();
    });
    const before = this.#slots[slot];
    const state: Slot = { worker, lastBeat: moment(), isReady: false };
    this.#slots[slot] = state;
    void worker.exit.then(async () => {
      await pause(restartMs);
      if (!this.#isOver) this.#start(slot);
    });
  }

  #killBlocked(): void {
    for (const { worker, lastBeat, isReady } of this.#slots)
      if (isReady && moment() - lastBeat > this.#blockedMs) void worker.kill();
  }
}
