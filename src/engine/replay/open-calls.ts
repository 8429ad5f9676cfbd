/**
 * The calls of a pass that have not settled, by what they wait for: whatever happens, only the calls that it may concern
 * are gone through, however many others are open.
 */
import type { Outcome } from '../../model/outcome.ts';
import type { TaskId } from '../../model/task.ts';
import type { Call, ExternalState, Settlement } from './call.ts';
import { recorded } from './comparison.ts';
import type { Batch, Entry, FailedAttempt } from './journal.ts';
import { AskTimedOut, fromChild, recordError, WaitTimedOut } from './recorded-error.ts';

export class OpenCalls {
  readonly #all = new Set<Call>();
  readonly #unread = new Set<TaskId>();
  /** Calls of `result`, by the subtask whose end they wait for. */
  readonly awaited = new Map<TaskId, Set<Call>>();
  /** Of these subtasks it is known how they ended, and some call is still to be told. */
  readonly ended = new Map<TaskId, Outcome>();
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
    return this.waits.size + this.awaited.size > 0;
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
    for (const [id, outcome] of ended) this.ended.set(id, outcome);
    return this.#unread.size === 0;
  }

  /** Whether a step waits for the claim to be renewed. */
  get isHeldBack(): boolean {
    return [...this.resting].some(({ state }) => state === 'held');
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
    this.awaited.set(childId, (this.awaited.get(childId) ?? new Set()).add(call));
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
    const same = this.awaited.get(childId);
    same?.delete(call);
    if (same?.size !== 0) return;
    this.awaited.delete(childId);
    this.#unread.delete(childId);
    this.ended.delete(childId);
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

// --- What a live pass has to commit -------------------------------------------------------------------------

/**
 * Entries of subtasks that one commit may hold. Each start is a task to be written, each result a value of any size: more
 * of them in one commit would keep the event loop, or the connection to the database, from everybody else.
 */
export const subtasksPerCommit = 200;

export interface NextBatch {
  readonly open: OpenCalls;
  /** Calls that no commit has recorded yet. */
  readonly unrecorded: readonly Call[];
  /** Work that ended since the last commit, in the order in which it ended. */
  readonly completed: readonly (Entry | FailedAttempt)[];
  readonly outside: ExternalState;
  readonly settled: number;
  readonly now: number;
}

/**
 * Everything that completed or arrived, with every call made by now; undefined if nothing has. Questions and timers
 * are worth a commit of their own: people must see the one, and the other counts from when it was made.
 */
export function nextBatch(from: NextBatch): Batch | undefined {
  const attempts = from.completed.filter((one) => 'retryAt' in one);
  const entries: Entry[] = from.completed.filter((one) => 'ok' in one);
  for (const { call, settlement } of arrivals(from)) {
    call.state = 'over';
    entries.push({ call: call.position, ...settlement });
  }
  const urgent = from.unrecorded.some(({ kind, due }) => kind === 'ask' || due !== undefined);
  if (entries.length === 0 && attempts.length === 0 && !urgent) return undefined;
  return { ...callsOnly(from), entries, attempts };
}

export function callsOnly({
  unrecorded,
  settled,
  now,
}: Pick<NextBatch, 'unrecorded' | 'settled' | 'now'>): Batch {
  return { moment: now, settled, calls: unrecorded.map(recorded), entries: [], attempts: [] };
}

interface Arrival {
  readonly call: Call;
  readonly settlement: Settlement;
}

/** In the order in which the calls were made. */
function arrivals(from: NextBatch): Arrival[] {
  const all = [...from.open.timed()].flatMap((call) => arrived(call, from) ?? []);
  let left = subtasksPerCommit;
  for (const call of ofSubtasks(from)) {
    const one = arrived(call, from);
    if (!one) continue;
    all.push(one);
    if (--left === 0) break;
  }
  return all.sort((one, other) => one.call.position - other.call.position);
}

function* ofSubtasks({ open, outside }: NextBatch): Generator<Call> {
  for (const id of outside.children.keys()) yield* open.awaited.get(id) ?? [];
  yield* open.starts;
}

function arrived(call: Call, { outside, now }: NextBatch): Arrival | undefined {
  if (call.state === 'over' || call.state === 'running') return undefined;
  // A subtask is made by the commit itself, together with the entry that remembers it.
  if (call.purpose.kind === 'start')
    return { call, settlement: { ok: true, value: call.purpose.request.id } };
  // A question must have been asked before it can be answered.
  if (call.kind === 'ask' && call.key === undefined) return undefined;
  const settlement = settlementOf(call, outside, now);
  // Several calls may wait for the same thing. A branch owns its value, as on replay, whatever it does to it.
  return settlement && { call, settlement: structuredClone(settlement) };
}

// --- When a call that waits may settle, and with what -------------------------------------------------------

/** How a waiting call settles now; undefined while there is nothing to settle it with. */
export function settlementOf(
  call: Call,
  { task, children }: ExternalState,
  now: number,
): Settlement | undefined {
  switch (call.purpose.kind) {
    case 'ask': {
      const input = task.inputs.find(({ key }) => key === call.key);
      if (input?.state === 'answered') return { ok: true, value: input.response };
      if (input?.state === 'withdrawn')
        return failed(new AskTimedOut(`The question "${call.name}" was withdrawn.`));
      return late(call, now, () => new AskTimedOut(`Nobody answered the question "${call.name}" in time.`));
    }
    case 'event': {
      if (task.completions && Object.hasOwn(task.completions, call.name))
        return { ok: true, value: task.completions[call.name]! };
      return late(call, now, () => new WaitTimedOut(`"${call.name}" was not completed in time.`));
    }
    case 'result': {
      const outcome = children.get(call.purpose.childId);
      return outcome && fromChild(call.purpose.tool, outcome);
    }
    case 'sleep':
      return isOver(call, now) ? { ok: true } : undefined;
    case 'until':
      return late(call, now, () => new WaitTimedOut(`"${call.name}" did not come true in time.`));
    case 'step':
    case 'start':
      return undefined;
  }
}

/** The next moment at which something may happen by itself to one of these calls. */
export function nextMoment(calls: Iterable<Call>): number | undefined {
  let next = Number.POSITIVE_INFINITY;
  for (const { state, due, startAt } of calls) {
    if (due !== undefined && due < next) next = due;
    if (state === 'waiting' && startAt !== undefined && startAt < next) next = startAt;
  }
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}

function isOver(call: Call, now: number): boolean {
  return call.due !== undefined && call.due <= now;
}

function late(call: Call, now: number, timedOut: () => Error): Settlement | undefined {
  return isOver(call, now) ? failed(timedOut()) : undefined;
}

function failed(error: Error): Settlement {
  return { ok: false, value: recordError(error) };
}
