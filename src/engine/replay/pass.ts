/**
 * One pass of a handler: replay up to the end of the journal, then live work, until the handler ends or only waits.
 *
 * The law: entries settle one at a time, in commit order, after their commit, and everything that the handler does
 * in consequence has run dry before the next one settles. Live and replayed passes go through the same code, so
 * concurrent branches interleave exactly as before.
 *
 *   R1  A call is compared with the record at its position: kind, name, and how many entries had settled.
 *   R2  An entry settles only when every call that was made before it has been made again.
 *   R3  Between two entries Node drains ticks and microtasks: each settles in a `setImmediate` of its own, queued
 *       together, so that no timer and no I/O comes in between. That span is the entry's window.
 *   R4  A call, or an end, outside any window was reached through an await that the journal does not know. Beside
 *       open calls its order cannot be repeated, so it is refused; alone it is harmless and gets a window of its own.
 *   R5  A pass has at most one commit in flight; what completes meanwhile waits for the next.
 *   R6  A pass that is over settles nothing: its promises stay open and are collected with it.
 *
 * Over 400 lines because these laws hold only together.
 */

import type { Task, TaskId } from '../../model/task.ts';
import type { ObservedPass } from '../../ports/observer.ts';
import { runtime, type Timer } from '../../runtime/runtime.ts';
import type { EngineLimits } from '../rules/limits.ts';
import { checkTaskLimit } from '../rules/limits.ts';
import { type Attempted, attempt } from './attempt.ts';
import { type Call, newCall, type Purpose, type RefreshedState } from './call.ts';
import { described, difference, HandlerRefused, outsideAStep, recorded, whenDrained } from './comparison.ts';
import {
  append,
  type Batch,
  type Entry,
  type FailedAttempt,
  type Journal,
  journalTooLong,
} from './journal.ts';
import { callsOnly, nextBatch, nextMoment, OpenCalls, subtasksPerCommit } from './open-calls.ts';
import { running } from './pass-context.ts';
import { errorFrom } from './recorded-error.ts';

/** Entries that settle in one phase of the event loop. More would starve timers; one by one would be slow. */
const perPhase = 64;

export class Pass {
  readonly ended: Promise<PassEnd>;
  readonly #end: (end: PassEnd) => void;
  readonly #journal: Journal;
  readonly #host: PassHost;
  readonly #calls: Call[] = [];
  /** Calls that have not settled. */
  readonly #open = new OpenCalls();
  readonly #completed: (Entry | FailedAttempt)[] = [];
  #task: Task;
  #settled = 0;
  #moment: number;
  #needed = 0;
  #inWindow = false;
  #live = false;
  #asleep = false;
  #committing = false;
  #outdated = true;
  #finished: PassEnd | undefined;
  #isOver = false;
  #yielding = false;
  #cancelTimer: (() => void) | undefined;
  readonly #linger = new Linger();

  constructor(journal: Journal, task: Task, host: PassHost) {
    this.#journal = journal;
    this.#task = task;
    this.#host = host;
    this.#moment = task.createdAt;
    const { promise, resolve } = Promise.withResolvers<PassEnd>();
    this.ended = promise;
    this.#end = resolve;
  }

  run(handler: () => unknown): void {
    runtime.setImmediate(() => {
      if (this.#isOver) return;
      this.#inWindow = true;
      running.run({ pass: this }, () => {
        new Promise((resolve) => resolve(handler())).then(
          (value) => this.#handlerEnded({ type: 'returned', value }),
          (error) => this.#handlerEnded({ type: 'threw', error }),
        );
      });
    });
    this.#soon();
  }

  /** True once the handler is ahead of its journal: what it reports now, nobody has heard. */
  get isLive(): boolean {
    return !this.#isOver && this.#settled === this.#journal.entries.length;
  }

  /** The moment that the handler may know of: that of the last entry it saw. */
  get moment(): number {
    return this.#moment;
  }

  get waitsForSubtasks(): boolean {
    return this.#open.awaited.size > 0;
  }

  get name(): { readonly task: string; readonly tool: string } {
    return { task: this.#host.taskId, tool: this.#task.tool };
  }

  /** Something happened to the task outside: look. */
  poke(): void {
    this.#outdated = true;
    this.#wake();
  }

  /** Ends the pass when what runs now has been committed. Nothing settles any more, so the handler goes no further. */
  yield(): void {
    this.#yielding = true;
    this.#wake();
  }

  /** Ends the pass where it stands. First nothing can be committed any more, then its steps are told to stop. */
  stop(): void {
    this.#over({ type: 'stopped' });
  }

  /** The handler broke loose: a promise that nobody awaited was rejected. */
  failUnhandled(error: unknown): void {
    this.#finish({ type: 'threw', error });
  }

  call(name: string, purpose: Purpose): Promise<unknown> {
    const step = running.getStore()?.step;
    const { kind } = purpose;
    if (step !== undefined)
      throw new HandlerRefused(
        `task.${kind}() was called inside the step "${step}". A step speaks only by its return value: call it after the step.`,
      );
    if (this.#isOver) return new Promise(() => {});
    checkTaskLimit(this.#host.limits, 'maxOpenCalls', this.#open.size, 'Too many calls on `task` are open');
    const made = { position: this.#calls.length, kind, name, at: this.#settled, purpose };
    if (!this.#admit(made)) return new Promise(() => {});
    const known = this.#journal.calls[made.position];
    // Every call leaves an entry in time: one that is too many is refused before anything is done for it.
    if (!known && made.position >= this.#host.maxJournalEntries)
      this.#refuse(journalTooLong(this.#host.maxJournalEntries));
    if (this.#isOver) return new Promise(() => {});
    const attempts = this.#journal.attempts.get(made.position) ?? [];
    const { call, promise } = newCall(made, known, attempts, this.#host.now());
    this.#calls.push(call);
    this.#open.add(call);
    if (kind === 'result') this.#outdated = true;
    return promise;
  }

  // --- Replay ---------------------------------------------------------------------------------------------

  /** R1 and R4. */
  #admit(made: Pick<Call, 'position' | 'kind' | 'name' | 'at'>): boolean {
    const problem = difference(this.#journal, made);
    if (problem) {
      this.#changed(problem);
      return false;
    }
    if (!this.#isInOrder(described(made))) return false;
    if (this.#inWindow) return true;
    this.#inWindow = true;
    whenDrained(() => {
      this.#inWindow = false;
    });
    this.#wake();
    return true;
  }

  /** R4: whether the handler may get there, now, with these calls open. */
  #isInOrder(where: string): boolean {
    if (this.#inWindow || this.#open.size === 0) return true;
    this.#refuse(outsideAStep(where, this.#open));
    return false;
  }

  /** Nothing that goes wrong in a pass may end the process: it ends the pass. */
  #soon(): void {
    runtime.setImmediate(() => {
      try {
        this.#next();
      } catch (error) {
        this.#over({ type: 'lost', error });
      }
    });
  }

  #next(): void {
    if (this.#isOver) return;
    this.#inWindow = false;
    if (this.#yielding && this.#live) this.#goOn();
    else if (this.#settled < this.#journal.entries.length) this.#replay();
    else if (!this.#live && this.#calls.length < this.#journal.calls.length) this.#awaitRecordedCalls();
    else this.#goOn();
  }

  /** R2: settles what is recorded, some entries at a time. */
  #replay(): void {
    const { entries, calls } = this.#journal;
    if (this.#calls.length < this.#neededNow()) return this.#awaitRecordedCalls();
    if (this.#finished) {
      // A handler may end in the middle of a batch, and leave the rest of it unsettled.
      const next = entries[this.#settled]!;
      const inOneBatch = this.#settled > 0 && entries[this.#settled - 1]!.batch === next.batch;
      if (!this.#live && (calls.length > this.#calls.length || !inOneBatch))
        return this.#changed(`the handler ended, the journal goes on with ${described(calls[next.call]!)}`);
      return this.#over(this.#finished);
    }
    const count = Math.min(perPhase, entries.length - this.#settled);
    let held = false;
    for (let n = 0; n < count; n++)
      runtime.setImmediate(() => {
        held ||= this.#finished !== undefined || this.#calls.length < this.#neededNow();
        if (!held) this.#settle(entries[this.#settled]!);
      });
    this.#soon();
  }

  /** Calls that were recorded must be made again. Only a handler that awaits something else entirely may take its time. */
  #awaitRecordedCalls(): void {
    const next = described(this.#journal.calls[this.#calls.length]!);
    if (this.#finished) return this.#changed(`the handler ended, the journal has ${next} before that`);
    if (this.#open.size > 0) return this.#changed(`the handler no longer makes ${next}`);
    this.#asleep = true;
  }

  #neededNow(): number {
    const { calls } = this.#journal;
    while (this.#needed < calls.length && calls[this.#needed]!.at <= this.#settled) this.#needed++;
    return this.#needed;
  }

  #settle(entry: Entry & { readonly moment: number }): void {
    if (this.#isOver) return;
    const call = this.#calls[entry.call];
    // A journal that no handler can have written must not end the process, and every other one after it.
    if (!call) return this.#changed(`the journal settles call ${entry.call}, which was not made before`);
    this.#inWindow = true;
    this.#settled++;
    this.#moment = entry.moment;
    this.#open.delete(call);
    if (entry.ok) call.resolve(entry.value);
    else call.reject(errorFrom(entry.value));
  }

  // --- Live -----------------------------------------------------------------------------------------------

  #goOn(): void {
    this.#live = true;
    if (this.#finished) return this.#over(this.#finished);
    if (this.#committing) return;
    if (this.#outdated && this.#open.waitForOthers) return this.#look();
    if (!this.#yielding) this.#startWork();
    const batch = nextBatch({
      open: this.#open,
      unrecorded: this.#unrecorded(),
      completed: this.#completed.splice(0),
      outside: { task: this.#task, children: this.#open.ended },
      settled: this.#settled,
      now: this.#host.now(),
    });
    if (batch) return this.#commit(batch);
    const works = this.#open.running.size > 0 || (!this.#yielding && this.#open.isHeldBack);
    if (this.#yielding && !works) return this.#over({ type: 'stopped' });
    this.#asleep = true;
    if (!this.#yielding) this.#armTimer();
    if (works || this.#open.size === 0) return;
    // Only waits are open: after a short while the pass ends, and something else will wake the task.
    if (this.#linger.isOver(this.#host.lingerMs(), () => this.#wake())) this.#park();
  }

  #look(): void {
    this.#committing = true;
    this.#outdated = false;
    const unread = this.#open.unread(subtasksPerCommit);
    this.#orOver(
      this.#host.refresh(unread, this.#open.awaited).then(({ task, children, isComplete: isAll }) => {
        this.#task = task;
        if (!this.#open.read(unread, children) || !isAll) this.#outdated = true;
        this.#committing = false;
        this.#soon();
      }),
    );
  }

  #startWork(): void {
    const now = this.#host.now();
    // A failed attempt is recorded before the next one begins, or a crash would repeat both.
    const unrecorded = new Set(this.#completed.map(({ call }) => call));
    for (const call of this.#open.resting) {
      if (call.state === 'over' || unrecorded.has(call.position)) continue;
      const isEarly = call.startAt !== undefined && call.startAt > now;
      call.state = isEarly ? 'waiting' : this.#host.isClaimCertain() ? 'running' : 'held';
      if (call.state !== 'running') continue;
      this.#linger.reset();
      this.#open.begins(call);
      const context = { pass: this, step: call.name };
      running.run(context, () =>
        this.#orOver(attempt(call, this.#host).then((done) => this.#completedWork(call, done))),
      );
    }
  }

  #completedWork(call: Call, done: Attempted): void {
    if (this.#isOver || call.state !== 'running') return;
    this.#open.rests(call);
    if (done.type === 'later') {
      call.state = 'waiting';
      call.startAt = done.at;
      if (done.message !== undefined) {
        call.attempts++;
        this.#completed.push({ call: call.position, message: done.message, retryAt: done.at });
      }
    } else {
      call.state = 'over';
      const { type: _, ...settlement } = done;
      this.#completed.push({ call: call.position, ...settlement });
    }
    this.#wake();
  }

  #unrecorded(): Call[] {
    return this.#calls.slice(this.#journal.calls.length);
  }

  /** R5. After the commit its entries settle exactly as a replay would settle them. */
  #commit(batch: Batch): void {
    const longest = this.#host.maxJournalEntries;
    const failed = this.#journal.failed + batch.attempts.length;
    if (this.#journal.entries.length + batch.entries.length + failed > longest)
      return this.#refuse(
        `The journal of this task would grow beyond ${longest} entries (maxJournalEntries), ${failed} of them failed attempts at steps. Give parts of the work to subtasks, or poll with task.until(), which leaves a single entry.`,
      );
    this.#committing = true;
    this.#linger.reset();
    const calls = this.#unrecorded();
    this.#orOver(
      this.#host.commit(batch, this.#calls).then((task) => {
        if (this.#isOver) return;
        this.#task = task;
        append(this.#journal, { ...batch, calls: calls.map(recorded) }); // Questions have got their keys.
        this.#committing = false;
        if (this.#host.interrupts(batch)) return this.#over({ type: 'stopped' });
        if (this.#yielding) this.#goOn();
        else if (batch.entries.length > 0) this.#replay();
        else this.#soon();
      }),
    );
  }

  // --- Rest -----------------------------------------------------------------------------------------------

  #armTimer(): void {
    const at = nextMoment(this.#open.timed());
    this.#cancelTimer?.();
    this.#cancelTimer = at === undefined ? undefined : this.#host.schedule(at, () => this.#wake());
  }

  #park(): void {
    this.#asleep = false;
    this.#committing = true;
    const made = { unrecorded: this.#unrecorded(), settled: this.#settled, now: this.#host.now() };
    const batch = made.unrecorded.length > 0 ? callsOnly(made) : undefined;
    this.#orOver(
      this.#host.park(nextMoment(this.#open.timed()) ?? null, batch, this.#calls).then((parked) => {
        if (parked) this.#over({ type: 'parked' });
        else this.#look();
      }),
    );
  }

  #wake(): void {
    if (!this.#asleep || this.#isOver) return;
    this.#asleep = false;
    this.#soon();
  }

  #orOver(done: Promise<void>): void {
    done.catch((error) => this.#over({ type: 'lost', error }));
  }

  #handlerEnded(end: PassEnd): void {
    if (this.#isInOrder('The end of the handler')) this.#finish(end);
  }

  #finish(end: PassEnd): void {
    this.#finished ??= end;
    this.#wake();
  }

  #changed(message: string): void {
    this.#over({ type: 'changed', message });
  }

  #refuse(message: string): void {
    this.#over({ type: 'threw', error: new HandlerRefused(message) });
  }

  #over(end: PassEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer?.();
    this.#linger.reset();
    this.#end(end);
    for (const { abort } of this.#open) abort?.abort();
  }
}

/** How long a pass that only waits stays in memory. Being woken for nothing does not begin that time again. */
class Linger {
  #timer: Timer | undefined;
  #isOver = false;

  /** True if the time is over; if not, `end` is called when it is. */
  isOver(ms: number, end: () => void): boolean {
    if (!this.#isOver)
      this.#timer ??= runtime.setTimeout(() => {
        this.#isOver = true;
        end();
      }, ms);
    return this.#isOver;
  }

  /** Something happened: the next wait has all the time again. */
  reset(): void {
    runtime.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isOver = false;
  }
}

// --- Between a pass and the worker that runs it -------------------------------------------------------------

export type PassEnd =
  | { readonly type: 'returned'; readonly value: unknown }
  | { readonly type: 'threw'; readonly error: unknown }
  | { readonly type: 'parked' }
  /** The handler is not the one that wrote the journal. */
  | { readonly type: 'changed'; readonly message: string }
  /** A commit failed: the claim is lost, or the store cannot write. */
  | { readonly type: 'lost'; readonly error: unknown }
  | { readonly type: 'stopped' };

/** What a pass needs of its worker. */
export interface PassHost {
  readonly taskId: TaskId;
  readonly observed: ObservedPass;
  now(): number;
  /**
   * Whether the claim is certain to be its own still, so that a step may begin. If not, it is renewed, and the pass is
   * poked when that has come about; or it is lost, and the pass stops.
   */
  isClaimCertain(): boolean;
  /** An attempt at a step has begun; the promise resolves when it has settled, also long after the pass. */
  attemptStarted(attempt: Promise<void>): void;
  /**
   * Makes a batch durable, with the questions and subtasks in it; `calls` are all calls of the pass. Questions that
   * are asked by it get their keys. Returns the task after it.
   */
  commit(batch: Batch, calls: readonly Call[]): Promise<Task>;
  /**
   * Looks at the task again, and at subtasks that the pass awaits: at those that it has not read yet, and at those that
   * have ended since the last look.
   */
  refresh(unread: readonly TaskId[], awaited: ReadonlyMap<TaskId, unknown>): Promise<RefreshedState>;
  /** Ends the pass until then. False if something happened that the pass has not seen. */
  park(until: number | null, batch: Batch | undefined, calls: readonly Call[]): Promise<boolean>;
  /** Whether the pass is to end after this commit, as a crash would end it. */
  interrupts(batch: Batch): boolean;
  schedule(at: number, callback: () => void): () => void;
  /** How long a pass that only waits stays in memory, so that quick answers need no replay. */
  lingerMs(): number;
  readonly limits: EngineLimits;
  /** Entries and failed attempts that a journal may have. */
  readonly maxJournalEntries: number;
}
