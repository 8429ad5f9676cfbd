/**
 * The calls of a pass that have not settled, by what they wait for: whatever happens, only the calls that it may concern
 * are gone through, however many others are open.
 */
import type { Outcome } from '../model/outcome.ts';
import type { TaskId } from '../model/task.ts';
import type { Call } from './call.ts';

export class OpenCalls {
  readonly #all = new Set<Call>();
  /** Calls of `result`, by the subtask that they wait for. */
  readonly #results = new Map<TaskId, Set<Call>>();
  readonly #unread = new Set<TaskId>();
  readonly #ended = new Map<TaskId, Outcome>();
  /** Subtasks that no commit has started yet. */
  readonly starts = new Set<Call>();
  /** Steps and polls that do not run at the moment. */
  readonly resting = new Set<Call>();
  /** Steps and polls that run. */
  readonly running = new Set<Call>();
  /** Questions, events and sleeps. */
  readonly waits = new Set<Call>();

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): Iterator<Call> {
    return this.#all.values();
  }

  /** Whether one of them settles by what others do to the task, or by the clock. */
  get waitForOthers(): boolean {
    return this.waits.size + this.#results.size > 0;
  }

  /** The subtasks whose ends are waited for. */
  get awaited(): ReadonlyMap<TaskId, ReadonlySet<Call>> {
    return this.#results;
  }

  /** Of these subtasks it is known how they ended, and some call is still to be told. */
  get ended(): ReadonlyMap<TaskId, Outcome> {
    return this.#ended;
  }

  /** Awaited subtasks that have not been read since they are awaited: they may have ended long before. */
  unread(most: number): TaskId[] {
    const some: TaskId[] = [];
    for (const id of this.#unread) if (some.push(id) === most) break;
    return some;
  }

  /** These were read, and those of them that have ended are known. False if others are left to be read. */
  read(ids: readonly TaskId[], ended: ReadonlyMap<TaskId, Outcome>): boolean {
    for (const id of ids) this.#unread.delete(id);
    for (const [id, outcome] of ended) this.#ended.set(id, outcome);
    return this.#unread.size === 0;
  }

  /** Whether a step waits for the claim to be renewed. */
  get isHeldBack(): boolean {
    for (const { state } of this.resting) if (state === 'held') return true;
    return false;
  }

  /** Those to which something may happen at a certain moment. */
  *timed(): Generator<Call> {
    yield* this.waits;
    yield* this.resting;
  }

  add(call: Call): void {
    this.#all.add(call);
    if (call.purpose.kind !== 'result') {
      this.#others(call).add(call);
      return;
    }
    const { childId } = call.purpose;
    this.#unread.add(childId);
    const same = this.#results.get(childId);
    if (same) same.add(call);
    else this.#results.set(childId, new Set([call]));
  }

  /** It has settled. */
  delete(call: Call): void {
    this.#all.delete(call);
    this.running.delete(call);
    if (call.purpose.kind !== 'result') {
      this.#others(call).delete(call);
      return;
    }
    const { childId } = call.purpose;
    const same = this.#results.get(childId);
    same?.delete(call);
    if (same?.size !== 0) return;
    this.#results.delete(childId);
    this.#unread.delete(childId);
    this.#ended.delete(childId);
  }

  begins(call: Call): void {
    this.resting.delete(call);
    this.running.add(call);
  }

  rests(call: Call): void {
    this.running.delete(call);
    this.resting.add(call);
  }

  #others({ kind }: Call): Set<Call> {
    if (kind === 'start') return this.starts;
    return kind === 'step' || kind === 'until' ? this.resting : this.waits;
  }
}
