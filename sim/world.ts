/**
 * A world of simulated processes in one real process. It controls scheduling, time and randomness, all derived from the
 * seed. Each simulated process has its own event loop: queues of immediates and timers, which start everything in it.
 * One callback runs at a time, with all its ticks and microtasks; then the world picks the next process. Time advances
 * only when nothing can run.
 */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import type { Runtime, Timer } from '../src/runtime/runtime.ts';
import { Random } from './random.ts';
import { Timers } from './timers.ts';

const real = { setImmediate: globalThis.setImmediate };
/** Messages between processes do not carry the sender's async context. */
const outsideOfAll = AsyncLocalStorage.snapshot();

/** More than any correct run needs. */
const maxTurns = 60_000;

/** The wall-clock time at the start of the simulation. */
const beginning = Date.UTC(2027, 0, 1);

export class World {
  readonly seed: number;
  /** For scheduling only; the plan of a run has its own streams. */
  readonly #order: Random;
  readonly #processes: SimProcess[] = [];
  /** The process of the simulation itself: never stopped, and its clock is right. */
  readonly outside: SimProcess;
  /** The process whose callback runs. */
  current: SimProcess;
  /** Milliseconds since the start. */
  time = 0;
  #problem: Error | undefined;
  #streams = 0;
  isRunning = false;
  /** The number of callbacks that ran. */
  turns = 0;

  constructor(seed: number) {
    this.seed = seed;
    this.#order = this.random();
    this.outside = this.process('outside');
    this.current = this.outside;
  }

  /** A new independent stream of random numbers. */
  random(): Random {
    return new Random(this.seed, this.#streams++);
  }

  process(name: string): SimProcess {
    const process = new SimProcess(this, name, this.random());
    this.#processes.push(process);
    return process;
  }

  /** Removes a dead process. */
  remove(process: SimProcess): void {
    this.#processes.splice(this.#processes.indexOf(process), 1);
  }

  /** Runs a function as the simulation itself. */
  fromOutside(act: () => void): void {
    const { current } = this;
    this.current = this.outside;
    act();
    this.current = current;
  }

  /** Ends the run. */
  fail(error: unknown): void {
    this.#problem ??= error instanceof Error ? error : new Error(String(error));
  }

  /** Runs until `isOver`, for at most `maxMs` of virtual time; false if it ends without. */
  async run(isOver: () => boolean, maxMs: number): Promise<boolean> {
    this.isRunning = true;
    try {
      return await this.#run(isOver, maxMs);
    } finally {
      this.isRunning = false;
    }
  }

  async #run(isOver: () => boolean, maxMs: number): Promise<boolean> {
    const end = this.time + maxMs;
    const runnable: SimProcess[] = [];
    for (;;) {
      await drained();
      if (this.#problem) throw this.#problem;
      if (isOver()) return true;
      this.#findRunnable(runnable);
      if (runnable.length === 0) {
        const next = this.#nextAt();
        if (next > end) return false;
        this.time = Math.max(this.time, next);
        continue;
      }
      if (++this.turns > maxTurns) throw new Error(`The run did not end within ${maxTurns} turns.`);
      this.current = runnable.length === 1 ? runnable[0]! : this.#order.pick(runnable);
      this.current.turn();
    }
  }

  // Runs every turn, so it allocates nothing.

  #findRunnable(runnable: SimProcess[]): void {
    runnable.length = 0;
    for (const process of this.#processes) if (process.isRunnable) runnable.push(process);
  }

  #nextAt(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const process of this.#processes) next = Math.min(next, process.nextAt);
    return next;
  }

  /** The runtime for the code under test: delegates to the current process. */
  readonly runtime: Runtime = {
    now: () => this.current.now(),
    monotonic: () => this.current.monotonic(),
    setImmediate: (act) => this.current.setImmediate(act as () => void),
    setTimeout: (act, ms) => this.current.setTimer(act as () => void, ms),
    clearTimeout: (timer) => (timer as SimTimer | undefined)?.clear(),
    setInterval: (act, ms) => this.current.setTimer(act, ms, true),
    clearInterval: (timer) => (timer as SimTimer | undefined)?.clear(),
    random: () => this.current.random.fraction(),
    randomBytes: (count) => this.current.random.bytes(count),
    sha256: async (bytes) => createHash('sha256').update(bytes).digest(),
  };
}

/** Waits for ticks and microtasks. Everything else was replaced. */
function drained(): Promise<void> {
  return new Promise((resolve) => real.setImmediate(resolve));
}

/** Binds a callback to the current async context. `AsyncLocalStorage.bind` does the same with ten times the garbage. */
function bound(act: () => void): () => void {
  const context = new AsyncResource('simulated');
  return () => context.runInAsyncScope(act);
}

export class SimTimer implements Timer {
  readonly #process: SimProcess;
  readonly #ms: number;
  readonly isRepeated: boolean;
  readonly act: () => void;
  at = 0;
  /** Timers with the same due time fire in the order in which they were set. */
  order = 0;
  isSet = false;

  constructor(process: SimProcess, act: () => void, ms: number, isRepeated: boolean) {
    this.#process = process;
    this.act = act;
    this.isRepeated = isRepeated;
    // Like Node: an invalid or too long delay becomes 1 ms.
    this.#ms = ms >= 1 && ms <= 2 ** 31 - 1 ? Math.trunc(ms) : 1;
    this.refresh();
  }

  refresh(): this {
    this.#process.timers.set(this, this.#process.world.time + this.#ms);
    return this;
  }

  clear(): void {
    this.#process.timers.clear(this);
  }

  close(): this {
    this.clear();
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.dispose](): void {
    this.clear();
  }
}

export class SimProcess {
  readonly world: World;
  readonly name: string;
  readonly random: Random;
  readonly timers = new Timers<SimTimer>();
  /** Called in order when the process is killed. */
  readonly atDeath: (() => void)[] = [];
  /** The immediates of the current round of the event loop, and of the next one. */
  #round: (() => void)[] = [];
  #nextRound: (() => void)[] = [];
  #isDead = false;
  /** The end of its stall. */
  #stalledUntil = 0;
  /** The offset of its wall clock. */
  clockOffsetMs = 0;
  /** The speed of its clocks. */
  drift = 1;

  constructor(world: World, name: string, random: Random) {
    this.world = world;
    this.name = name;
    this.random = random;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get isStalled(): boolean {
    return this.world.time < this.#stalledUntil;
  }

  now(): number {
    return Math.floor(beginning + this.world.time * this.drift + this.clockOffsetMs);
  }

  monotonic(): number {
    return this.world.time * this.drift;
  }

  /** Kills the process: nothing of it runs or has any effect afterwards. */
  kill(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#round = [];
    this.#nextRound = [];
    this.timers.clearAll();
    this.world.remove(this);
    // Its death callbacks do not run as the dead process.
    this.world.fromOutside(() => {
      for (const act of this.atDeath.splice(0)) act();
    });
  }

  /** Stalls the process for `ms`, like a stopped process or a sleeping machine. */
  stall(ms: number): void {
    this.#stalledUntil = Math.max(this.#stalledUntil, this.world.time + ms);
  }

  setImmediate(act: () => void): void {
    if (!this.isSilenced) this.#nextRound.push(bound(act));
  }

  setTimer(act: () => void, ms: number, isRepeated = false): SimTimer {
    const timer = new SimTimer(this, bound(act), ms, isRepeated);
    if (this.isSilenced) timer.clear();
    return timer;
  }

  /** Dead processes neither start nor receive anything. */
  get isSilenced(): boolean {
    return this.#isDead || this.world.current.isDead;
  }

  /** Delivers an event from outside after `ms`, unless the process is dead by then. */
  receive(act: () => void, ms: number): void {
    outsideOfAll(() => this.setTimer(act, ms));
  }

  get isRunnable(): boolean {
    if (this.#isDead || this.isStalled) return false;
    return this.#round.length + this.#nextRound.length > 0 || this.#due() !== undefined;
  }

  /** The next time at which it can run without an event from outside. */
  get nextAt(): number {
    if (this.#isDead) return Number.POSITIVE_INFINITY;
    const hasMore = this.#round.length + this.#nextRound.length > 0;
    return Math.max(hasMore ? 0 : (this.timers.first?.at ?? Number.POSITIVE_INFINITY), this.#stalledUntil);
  }

  /** Runs one callback. A round of immediates is completed before any timer. */
  turn(): void {
    if (this.#round.length === 0) {
      const due = this.#due();
      if (due && (this.#nextRound.length === 0 || this.random.chance(0.5))) {
        if (due.isRepeated) due.refresh();
        else due.clear();
        this.#attempt(due.act);
        return;
      }
      this.#round = this.#nextRound;
      this.#nextRound = [];
    }
    this.#attempt(this.#round.shift()!);
  }

  #attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.world.fail(error);
    }
  }

  #due(): SimTimer | undefined {
    const { first } = this.timers;
    return first && first.at <= this.world.time ? first : undefined;
  }
}
