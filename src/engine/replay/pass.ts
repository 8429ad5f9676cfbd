/**
 * One pass of a handler: it replays the journal to its end, then runs live until the handler ends or only waits.
 *
 * The main rule: entries settle one at a time, in commit order and after their commit. Before the next one settles,
 * everything that the handler does in response has finished. Live and replayed passes use the same code, so concurrent
 * branches interleave exactly as before.
 *
 *   R1  A call is compared with the record at its position: kind, name, and how many entries had settled.
 *   R2  An entry settles only when every call that was made before it has been made again.
 *   R3  Between two entries Node drains ticks and microtasks: each settles in a `setImmediate` of its own, queued
 *       together, so that no timer and no I/O comes in between. That span is the entry's window.
 *   R4  A call, or the end of the handler, outside any window was reached through an await that is not in the journal.
 *       While other calls are open its order cannot be repeated, so it is refused. Otherwise it is harmless and gets
 *       its own window.
 *   R5  A pass has at most one commit in flight. Work that completes during it waits for the next commit.
 *   R6  A pass that is over settles nothing: its promises stay pending and are garbage-collected with it.
 *
 * Over 400 lines because these rules depend on each other.
 */

import type { Task, TaskId } from '../../model/task.ts';
import type { ObservedPass } from '../../ports/observer.ts';
import { runtime, type Timer } from '../../runtime/runtime.ts';
import type { EngineLimits } from '../rules/limits.ts';
import { checkTaskLimit } from '../rules/limits.ts';
import { type Attempted, attempt } from './attempt.ts';
import { type Call, newCall, type Purpose, type RefreshedState } from './call.ts';
import {
  described,
  difference,
  HandlerRefused,
  methods,
  outsideAStep,
  recorded,
  whenDrained,
} from './comparison.ts';
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

/** Entries that settle in one phase of the event loop. More would starve timers; fewer would be slow. */
const entriesPerPhase = 64;

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
          (value) => this.#onHandlerEnd({ type: 'returned', value }),
          (error) => this.#onHandlerEnd({ type: 'threw', error }),
        );
      });
    });
    this.#soon();
  }

  /** True after the replay: what the handler reports now is new. */
  get isLive(): boolean {
    return !this.#isOver && this.#settled === this.#journal.entries.length;
  }

  /** The time that `task.now()` returns: that of the last settled entry. */
  get moment(): number {
    return this.#moment;
  }

  get waitsForSubtasks(): boolean {
    return this.#open.awaited.size > 0;
  }

  get name(): { readonly task: string; readonly tool: string } {
    return { task: this.#host.taskId, tool: this.#task.tool };
  }

  /** The task or a subtask changed: the pass must read it again. */
  poke(): void {
    this.#outdated = true;
    this.#wake();
  }

  /** Ends the pass after the running work is committed. Nothing settles any more, so the handler does not continue. */
  yield(): void {
    this.#yielding = true;
    this.#wake();
  }

  /** Ends the pass at once: first it stops committing, then it aborts its steps. */
  stop(): void {
    this.#close({ type: 'stopped' });
  }

  /** Fails the handler because it left a rejected promise unhandled. */
  failUnhandled(error: unknown): void {
    this.#finish({ type: 'threw', error });
  }

  call(name: string, purpose: Purpose): Promise<unknown> {
    const step = running.getStore()?.step;
    const { kind } = purpose;
    if (step !== undefined)
      throw new HandlerRefused(
        `${methods[kind]}() was called inside the step "${step}". A step can only return a value: call it after the step.`,
      );
    if (this.#isOver) return new Promise(() => {});
    checkTaskLimit(this.#host.limits, 'maxOpenCalls', this.#open.size, 'Too many calls on `task` are open');
    const made = { position: this.#calls.length, kind, name, at: this.#settled, purpose };
    if (!this.#admit(made)) return new Promise(() => {});
    const known = this.#journal.calls[made.position];
    // Every call adds an entry in the end, so a call beyond the limit is refused before it starts.
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

  /** R4: whether the handler may reach this point now, with these calls open. */
  #isInOrder(where: string): boolean {
    if (this.#inWindow || this.#open.size === 0) return true;
    this.#refuse(outsideAStep(where, this.#open));
    return false;
  }

  /** An internal error ends the pass, never the process. */
  #soon(): void {
    runtime.setImmediate(() => {
      try {
        this.#next();
      } catch (error) {
        this.#close({ type: 'lost', error });
      }
    });
  }

  #next(): void {
    if (this.#isOver) return;
    this.#inWindow = false;
    if (this.#yielding && this.#live) this.#runLive();
    else if (this.#settled < this.#journal.entries.length) this.#replay();
    else if (!this.#live && this.#calls.length < this.#journal.calls.length) this.#awaitRecordedCalls();
    else this.#runLive();
  }

  /** R2: settles recorded entries, some at a time. */
  #replay(): void {
    const { entries, calls } = this.#journal;
    if (this.#calls.length < this.#neededNow()) return this.#awaitRecordedCalls();
    if (this.#finished) {
      // A handler may end in the middle of a batch and leave the rest unsettled.
      const next = entries[this.#settled]!;
      const inOneBatch = this.#settled > 0 && entries[this.#settled - 1]!.batch === next.batch;
      if (!this.#live && (calls.length > this.#calls.length || !inOneBatch))
        return this.#changed(
          `the handler ended, but the journal continues with ${described(calls[next.call]!)}`,
        );
      return this.#close(this.#finished);
    }
    const count = Math.min(entriesPerPhase, entries.length - this.#settled);
    let held = false;
    for (let n = 0; n < count; n++)
      runtime.setImmediate(() => {
        held ||= this.#finished !== undefined || this.#calls.length < this.#neededNow();
        if (!held) this.#settle(entries[this.#settled]!);
      });
    this.#soon();
  }

  /** Recorded calls must be made again. The pass waits for them only if the handler awaits something outside `task`. */
  #awaitRecordedCalls(): void {
    const next = described(this.#journal.calls[this.#calls.length]!);
    if (this.#finished) return this.#changed(`the handler ended, but the journal has ${next} before that`);
    if (this.#open.size > 0) return this.#changed(`the handler no longer calls ${next}`);
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
    // A corrupt journal must not end the process, and then every other process that claims the task.
    if (!call) return this.#changed(`the journal settles call ${entry.call}, which was not made before`);
    this.#inWindow = true;
    this.#settled++;
    this.#moment = entry.moment;
    this.#open.delete(call);
    if (entry.ok) call.resolve(entry.value);
    else call.reject(errorFrom(entry.value));
  }

  // --- Live -----------------------------------------------------------------------------------------------

  #runLive(): void {
    this.#live = true;
    if (this.#finished) return this.#close(this.#finished);
    if (this.#committing) return;
    if (this.#outdated && this.#open.waitForOthers) return this.#refresh();
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
    if (this.#yielding && !works) return this.#close({ type: 'stopped' });
    this.#asleep = true;
    if (!this.#yielding) this.#armTimer();
    if (works || this.#open.size === 0) return;
    // Only waits are open: after a short time the pass ends, and an event or timer will wake the task.
    if (this.#linger.isOver(this.#host.lingerMs(), () => this.#wake())) this.#park();
  }

  #refresh(): void {
    this.#committing = true;
    this.#outdated = false;
    const unread = this.#open.unread(subtasksPerCommit);
    this.#endOnError(
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
    // A failed attempt is recorded before the next one begins. Otherwise a crash would repeat both.
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
        this.#endOnError(attempt(call, this.#host).then((done) => this.#completedWork(call, done))),
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

  /** R5. After the commit the entries settle exactly as in a replay. */
  #commit(batch: Batch): void {
    const max = this.#host.maxJournalEntries;
    const failed = this.#journal.failed + batch.attempts.length;
    if (this.#journal.entries.length + batch.entries.length + failed > max)
      return this.#refuse(
        `The journal of this task would grow beyond ${max} entries (maxJournalEntries), ${failed} of them failed attempts of steps. Move parts of the work to subtasks, or poll with task.waitForCondition(), which adds only one entry.`,
      );
    this.#committing = true;
    this.#linger.reset();
    const calls = this.#unrecorded();
    this.#endOnError(
      this.#host.commit(batch, this.#calls).then((task) => {
        if (this.#isOver) return;
        this.#task = task;
        append(this.#journal, { ...batch, calls: calls.map(recorded) }); // Questions have their keys now.
        this.#committing = false;
        if (this.#host.interrupts(batch)) return this.#close({ type: 'stopped' });
        if (this.#yielding) this.#runLive();
        else if (batch.entries.length > 0) this.#replay();
        else this.#soon();
      }),
    );
  }

  // --- Waiting and ending ---------------------------------------------------------------------------------

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
    this.#endOnError(
      this.#host.park(nextMoment(this.#open.timed()) ?? null, batch, this.#calls).then((parked) => {
        if (parked) this.#close({ type: 'parked' });
        else this.#refresh();
      }),
    );
  }

  #wake(): void {
    if (!this.#asleep || this.#isOver) return;
    this.#asleep = false;
    this.#soon();
  }

  #endOnError(done: Promise<void>): void {
    done.catch((error) => this.#close({ type: 'lost', error }));
  }

  #onHandlerEnd(end: PassEnd): void {
    if (this.#isInOrder('The end of the handler')) this.#finish(end);
  }

  #finish(end: PassEnd): void {
    this.#finished ??= end;
    this.#wake();
  }

  #changed(message: string): void {
    this.#close({ type: 'changed', message });
  }

  #refuse(message: string): void {
    this.#close({ type: 'threw', error: new HandlerRefused(message) });
  }

  #close(end: PassEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer?.();
    this.#linger.reset();
    this.#end(end);
    for (const { abort } of this.#open) abort?.abort();
  }
}

/** Limits how long a pass that only waits stays in memory. A wake-up without progress does not restart the time. */
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

  /** Restarts the time for the next wait, because there was progress. */
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
  /** The handler differs from the one that wrote the journal. */
  | { readonly type: 'changed'; readonly message: string }
  /** A commit failed: the claim is lost, or the store cannot write. */
  | { readonly type: 'lost'; readonly error: unknown }
  | { readonly type: 'stopped' };

/** What a pass needs from its worker. */
export interface PassHost {
  readonly taskId: TaskId;
  readonly observed: ObservedPass;
  now(): number;
  /**
   * Whether the claim is certainly still valid, so that a step may begin. If not, the worker renews it and pokes the
   * pass, or stops the pass if the claim is lost.
   */
  isClaimCertain(): boolean;
  /** Reports a running attempt. The promise resolves when it has settled, possibly long after the pass. */
  attemptStarted(attempt: Promise<void>): void;
  /**
   * Commits a batch with its questions and subtasks, and sets the keys of new questions. `calls` are all calls of the
   * pass. Returns the task after the commit.
   */
  commit(batch: Batch, calls: readonly Call[]): Promise<Task>;
  /**
   * Reads the task again, and those awaited subtasks that were not read yet or have ended since the last call.
   */
  refresh(unread: readonly TaskId[], awaited: ReadonlyMap<TaskId, unknown>): Promise<RefreshedState>;
  /** Parks the task until then. False if the task changed since the pass last read it. */
  park(until: number | null, batch: Batch | undefined, calls: readonly Call[]): Promise<boolean>;
  /** Whether the pass must end after this commit, as in a crash. */
  interrupts(batch: Batch): boolean;
  schedule(at: number, callback: () => void): () => void;
  /** How long a pass that only waits stays in memory, so that quick answers need no replay. */
  lingerMs(): number;
  readonly limits: EngineLimits;
  /** The maximum number of entries and failed attempts in a journal. */
  readonly maxJournalEntries: number;
}
