/**
 * The open calls of a pass, grouped by what they wait for. An event then only needs the calls of one group, even if
 * thousands of other calls are open.
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
  /** Calls of `result`, by the subtask that they wait for. */
  readonly awaited = new Map<TaskId, Set<Call>>();
  /** Outcomes of awaited subtasks whose calls have not settled yet. */
  readonly ended = new Map<TaskId, Outcome>();
  /** Calls of `start` whose subtasks are not committed yet. */
  readonly starts = new Set<Call>();
  /** Steps and polls that are not running now. */
  readonly resting = new Set<Call>();
  /** Steps and polls that are running. */
  readonly running = new Set<Call>();
  /** Questions, events and sleeps. */
  readonly waits = new Set<Call>();

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): Iterator<Call> {
    return this.#all.values();
  }

  /** Whether a call waits for another process or for the clock. */
  get waitForOthers(): boolean {
    return this.waits.size + this.awaited.size > 0;
  }

  /** Awaited subtasks that were not read yet. They may have ended long ago. */
  unread(max: number): TaskId[] {
    const some: TaskId[] = [];
    for (const id of this.#unread) if (some.push(id) === max) break;
    return some;
  }

  /** Records that these subtasks were read, and which of them have ended. False if there are others to read. */
  read(ids: readonly TaskId[], ended: ReadonlyMap<TaskId, Outcome>): boolean {
    for (const id of ids) this.#unread.delete(id);
    for (const [id, outcome] of ended) this.ended.set(id, outcome);
    return this.#unread.size === 0;
  }

  /** Whether a step waits until the claim is renewed. */
  get isHeldBack(): boolean {
    return [...this.resting].some(({ state }) => state === 'held');
  }

  /** Calls that may have a time at which something happens. */
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

  /** Removes a call that has settled. */
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

// --- The next batch of a live pass --------------------------------------------------------------------------

/**
 * The maximum number of subtask entries in one commit. Each start writes a task, and each result is a value of any size.
 * More of them in one commit would block the event loop or the database connection for others.
 */
export const subtasksPerCommit = 200;

export interface NextBatch {
  readonly open: OpenCalls;
  /** Calls that no commit has recorded yet. */
  readonly unrecorded: readonly Call[];
  /** Work that finished since the last commit, in the order in which it finished. */
  readonly completed: readonly (Entry | FailedAttempt)[];
  readonly outside: ExternalState;
  readonly settled: number;
  readonly now: number;
}

/**
 * Everything that completed or arrived, with all new calls; undefined if there is nothing. A new question or timer also
 * needs a commit: people must see a question, and a timer counts from the time of its call.
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
  for (const call of subtaskCalls(from)) {
    const one = arrived(call, from);
    if (!one) continue;
    all.push(one);
    if (--left === 0) break;
  }
  return all.sort((one, other) => one.call.position - other.call.position);
}

function* subtaskCalls({ open, outside }: NextBatch): Generator<Call> {
  for (const id of outside.children.keys()) yield* open.awaited.get(id) ?? [];
  yield* open.starts;
}

function arrived(call: Call, { outside, now }: NextBatch): Arrival | undefined {
  if (call.state === 'over' || call.state === 'running') return undefined;
  // The commit itself creates the subtask together with its entry.
  if (call.purpose.kind === 'start')
    return { call, settlement: { ok: true, value: call.purpose.request.id } };
  // A question must have been asked before it can be answered.
  if (call.kind === 'ask' && call.key === undefined) return undefined;
  const settlement = settlementOf(call, outside, now);
  // Several calls may wait for the same value. Each gets its own copy, as on replay.
  return settlement && { call, settlement: structuredClone(settlement) };
}

// --- How a waiting call settles -----------------------------------------------------------------------------

/** How a waiting call settles now; undefined if it still waits. */
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
      return late(call, now, () => new WaitTimedOut(`The event "${call.name}" did not arrive in time.`));
    }
    case 'result': {
      const outcome = children.get(call.purpose.childId);
      return outcome && fromChild(call.purpose.tool, outcome);
    }
    case 'sleep':
      return isOver(call, now) ? { ok: true } : undefined;
    case 'until':
      return late(call, now, () => new WaitTimedOut(`The condition "${call.name}" was not met in time.`));
    case 'step':
    case 'start':
      return undefined;
  }
}

/** The next time at which one of these calls is due without an event from outside. */
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
