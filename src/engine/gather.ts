/** What a live pass has to commit. */
import type { Call, Outside, Settlement } from './call.ts';
import type { Batch, Entry, FailedAttempt } from './journal.ts';
import type { OpenCalls } from './open-calls.ts';
import { recorded } from './replay.ts';
import { settlementOf } from './waits.ts';

/**
 * Entries of subtasks that one commit may hold. Each start is a task to be written, each result a value of any size: more
 * of them in one commit would keep the event loop, or the connection to the database, from everybody else.
 */
export const subtasksPerCommit = 200;

export interface Gathering {
  readonly open: OpenCalls;
  /** Calls that no commit has recorded yet. */
  readonly unrecorded: readonly Call[];
  /** Work that ended since the last commit, in the order in which it ended. */
  readonly completed: readonly (Entry | FailedAttempt)[];
  readonly outside: Outside;
  readonly settled: number;
  readonly now: number;
}

/**
 * Everything that completed or arrived, with every call made by now; undefined if nothing has. Questions and timers
 * are worth a commit of their own: people must see the one, and the other counts from when it was made.
 */
export function gather(from: Gathering): Batch | undefined {
  const entries: Entry[] = [];
  const attempts: FailedAttempt[] = [];
  for (const one of from.completed) {
    if ('retryAt' in one) attempts.push(one);
    else entries.push(one);
  }
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
}: Pick<Gathering, 'unrecorded' | 'settled' | 'now'>): Batch {
  return { moment: now, settled, calls: unrecorded.map(recorded), entries: [], attempts: [] };
}

interface Arrival {
  readonly call: Call;
  readonly settlement: Settlement;
}

/** In the order in which the calls were made. */
function arrivals(from: Gathering): Arrival[] {
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

function* ofSubtasks({ open, outside }: Gathering): Generator<Call> {
  for (const id of outside.children.keys()) yield* open.awaited.get(id) ?? [];
  yield* open.starts;
}

function arrived(call: Call, { outside, now }: Gathering): Arrival | undefined {
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
