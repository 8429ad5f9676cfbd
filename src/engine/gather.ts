/** What a live pass has to commit. */
import type { Call, Outside } from './call.ts';
import type { Batch, Entry, FailedAttempt } from './journal.ts';
import { recorded } from './replay.ts';
import { settlementOf } from './waits.ts';

export interface Gathering {
  readonly open: ReadonlySet<Call>;
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
  for (const call of from.open) {
    const settlement = call.state === 'over' || call.state === 'running' ? undefined : arrived(call, from);
    if (!settlement) continue;
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

function arrived(call: Call, { outside, now }: Gathering): Pick<Entry, 'ok' | 'value'> | undefined {
  // A subtask is made by the commit itself, together with the entry that remembers it.
  if (call.purpose.kind === 'start') return { ok: true, value: call.purpose.request.id };
  // A question must have been asked before it can be answered.
  if (call.kind === 'ask' && call.key === undefined) return undefined;
  // Several calls may wait for the same thing. A branch owns its value, as on replay, whatever it does to it.
  return structuredClone(settlementOf(call, outside, now));
}
