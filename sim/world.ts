/**
 * A world of simulated processes in one real one. It decides what runs next, what time it is, and what chance brings;
 * everything follows from the seed. Each process has an event loop of its own: a queue of immediates and of timers,
 * which is all that can begin anything in it. One callback runs at a time, with all its ticks and microtasks; then the
 * world draws the next process. Time moves only when nothing can run.
 */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import type { Runtime, Timer } from '../src/runtime/runtime.ts';
import { Random } from './random.ts';
import { Timers } from './timers.ts';

const real = { setImmediate: globalThis.setImmediate };
/** What one process sends another does not carry the sender's context along. */
const outsideOfAll = AsyncLocalStorage.snapshot();

/** More than any sound run takes. */
const mostTurns = 60_000;

/** When the simulation begins, for those who ask what day it is. */
const beginning = Date.UTC(2027, 0, 1);

export class World {
  readonly seed: number;
  /** For the order in which things happen; the plan of a run draws from streams of its own. */
  readonly #order: Random;
  readonly #processes: SimProcess[] = [];
  /** Where the simulation itself runs: never stopped, and its clock is right. */
  readonly outside: SimProcess;
  /** Whose callback runs. */
  current: SimProcess;
  /** Milliseconds since the beginning. */
  time = 0;
  #problem: Error | undefined;
  #streams = 0;
  isRunning = false;
  /** How many callbacks ran. */
  turns = 0;

  constructor(seed: number) {
    this.seed = seed;
    this.#order = this.random();
    this.outside = this.process('outside');
    this.current = this.outside;
  }

  /** A stream of random numbers that nobody else draws from. */
  random(): Random {
    return new Random(this.seed, this.#streams++);
  }

  process(name: string): SimProcess {
    const process = new SimProcess(this, name, this.random());
    this.#processes.push(process);
    return process;
  }

  /** Nothing of it will ever run again. */
  bury(process: SimProcess): void {
    this.#processes.splice(this.#processes.indexOf(process), 1);
  }

  /** Acts as nobody in the world does. */
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

  /** Runs until it is over, at most for so long; false if there was nothing left to do before. */
  async run(isOver: () => boolean, mostMs: number): Promise<boolean> {
    this.isRunning = true;
    try {
      return await this.#run(isOver, mostMs);
    } finally {
      this.isRunning = false;
    }
  }

  async #run(isOver: () => boolean, mostMs: number): Promise<boolean> {
    const end = this.time + mostMs;
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
      if (++this.turns > mostTurns) throw new Error(`Nothing came to an end in ${mostTurns} turns.`);
      this.current = runnable.length === 1 ? runnable[0]! : this.#order.pick(runnable);
      this.current.turn();
    }
  }

  // Once a turn: they leave no garbage.

  #findRunnable(runnable: SimProcess[]): void {
    runnable.length = 0;
    for (const process of this.#processes) if (process.isRunnable) runnable.push(process);
  }

  #nextAt(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const process of this.#processes) next = Math.min(next, process.nextAt);
    return next;
  }

  /** What the code under test gets for a runtime: that of the process that runs. */
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

/** Ticks and microtasks, and nothing else: whatever else could come was replaced. */
function drained(): Promise<void> {
  return new Promise((resolve) => real.setImmediate(resolve));
}

/** It runs in the context in which it was set. `AsyncLocalStorage.bind` does the same with ten times the garbage. */
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
  /** Of two that are due at the same time the one that was set first comes first. */
  order = 0;
  isSet = false;

  constructor(process: SimProcess, act: () => void, ms: number, isRepeated: boolean) {
    this.#process = process;
    this.act = act;
    this.isRepeated = isRepeated;
    // As Node does it: what is too long, or no number, is one millisecond.
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
  /** Called when it is killed, in the order in which they were added. */
  readonly atDeath: (() => void)[] = [];
  /** The immediates of this round of the loop, and of the next one. */
  #round: (() => void)[] = [];
  #nextRound: (() => void)[] = [];
  #isDead = false;
  /** It stands still until then. */
  #stalledUntil = 0;
  /** What its wall clock is off by. */
  clockOffsetMs = 0;
  /** How fast its clocks go. */
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

  /** From now on nothing of it runs, and nothing that it does has any effect. */
  kill(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#round = [];
    this.#nextRound = [];
    this.timers.clearAll();
    this.world.bury(this);
    // What follows from its death is not its own doing.
    this.world.fromOutside(() => {
      for (const act of this.atDeath.splice(0)) act();
    });
  }

  /** Stands still for so long, as a process that is stopped or a machine that sleeps. */
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

  /** Nothing comes of what the dead do, or of what is done to them. */
  get isSilenced(): boolean {
    return this.#isDead || this.world.current.isDead;
  }

  /** Something from outside arrives in it after so long; not if it is dead by then. */
  receive(act: () => void, ms: number): void {
    outsideOfAll(() => this.setTimer(act, ms));
  }

  get isRunnable(): boolean {
    if (this.#isDead || this.isStalled) return false;
    return this.#round.length + this.#nextRound.length > 0 || this.#due() !== undefined;
  }

  /** When it can run next, if nobody else wakes it. */
  get nextAt(): number {
    if (this.#isDead) return Number.POSITIVE_INFINITY;
    const hasMore = this.#round.length + this.#nextRound.length > 0;
    return Math.max(hasMore ? 0 : (this.timers.first?.at ?? Number.POSITIVE_INFINITY), this.#stalledUntil);
  }

  /** One callback. A round of immediates is run to its end before any timer. */
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
