/**
 * The format of a journal. Its first record contains the arguments of the call. After that, each commit of a pass adds
 * one batch: the calls that the handler made since the last commit, including open ones, and an entry for each call
 * that has settled. Every pass, live or replayed, settles its calls in the order of the entries.
 */
import { isJsonObject, type Json } from '../../model/json.ts';

export type CallKind = 'step' | 'ask' | 'start' | 'result' | 'sleep' | 'until' | 'event';

/** One call on `task`, at its position in the pass. */
export interface RecordedCall {
  readonly kind: CallKind;
  readonly name: string;
  /** How many entries had settled when the handler made the call. Identifies its place in the order of events. */
  readonly at: number;
  /** When its wait or its timeout ends, in milliseconds since 1970. */
  readonly due?: number;
  /** Of a question: its key in the task's inputs. */
  readonly key?: string;
}

/** How a call settled: with a value (`ok`) or with an error. Without a value it returned undefined. */
export interface Entry {
  /** The position of the call. */
  readonly call: number;
  readonly ok: boolean;
  readonly value?: Json;
}

/** A failed attempt of a step that will be retried. */
export interface FailedAttempt {
  /** The position of the call. */
  readonly call: number;
  readonly message: string;
  /** In milliseconds since 1970. */
  readonly retryAt: number;
}

export interface Batch {
  /** The time of the commit, in milliseconds since 1970: what `task.now()` returns after its entries have settled. */
  readonly moment: number;
  /** How many entries of earlier batches the handler had seen settle when the batch was written. */
  readonly settled: number;
  readonly calls: readonly RecordedCall[];
  readonly entries: readonly Entry[];
  readonly attempts: readonly FailedAttempt[];
}

/** A journal, parsed for replay. */
export interface Journal {
  readonly arguments: Json;
  readonly calls: RecordedCall[];
  /** Each with the number of its batch, because a handler may end in the middle of a batch. */
  readonly entries: (Entry & { readonly batch: number; readonly moment: number })[];
  /** By the position of the call. */
  readonly attempts: Map<number, FailedAttempt[]>;
  /** The total number of failed attempts, of all calls. */
  failed: number;
  /** Every call made up to this number of settled entries is recorded; -1 if the journal has no batch yet. */
  knownUpTo: number;
  /** The number of batches, where some commits count as part of the batch before them (see `append`). */
  batches: number;
}

export function readJournal(records: readonly Json[]): Journal {
  const [opening, ...batches] = records;
  const journal: Journal = {
    arguments: isJsonObject(opening) ? (opening.arguments ?? null) : null,
    calls: [],
    entries: [],
    attempts: new Map(),
    failed: 0,
    knownUpTo: -1,
    batches: 0,
  };
  for (const batch of batches) append(journal, batchIn(batch));
  return journal;
}

/** Adds a committed batch, with the same result as reading the whole journal again. */
export function append(journal: Journal, batch: Batch): void {
  // A pass that yields commits the results of running work although earlier entries have not settled yet. They count as
  // part of the batch before.
  const number = batch.settled < journal.entries.length ? journal.batches - 1 : journal.batches++;
  for (const call of batch.calls) journal.calls.push(call);
  for (const entry of batch.entries) journal.entries.push({ ...entry, batch: number, moment: batch.moment });
  for (const attempt of batch.attempts) {
    const before = journal.attempts.get(attempt.call);
    if (before) before.push(attempt);
    else journal.attempts.set(attempt.call, [attempt]);
    journal.failed++;
  }
  journal.knownUpTo = batch.settled;
}

/** The message of the error for a handler whose journal would exceed its limit. */
export function journalTooLong(maxJournalEntries: number): string {
  return `The journal of this task would grow beyond ${maxJournalEntries} entries. Move parts of the work to subtasks, or poll with task.waitForCondition(), which adds only one entry.`;
}

/** A batch as it is stored: an array to save space, because nearly every commit has one. Failed attempts are rare. */
type StoredBatch = readonly [
  moment: number,
  settled: number,
  calls: readonly StoredCall[],
  entries: readonly StoredEntry[],
  attempts?: Batch['attempts'],
];
/** The kind is omitted for a step. */
type StoredCall = readonly [name: string, at: number, kind?: CallKind, rest?: object];
type StoredEntry = readonly [call: number, ok: 0 | 1, value?: Json];

export function toRecord({ moment, settled, calls, entries, attempts }: Batch): Json {
  const stored: StoredBatch = [moment, settled, calls.map(toStoredCall), entries.map(toStoredEntry)];
  return (attempts.length > 0 ? [...stored, attempts] : stored) as unknown as Json;
}

export function batchIn(record: Json): Batch {
  const [moment, settled, calls, entries, attempts = []] = record as unknown as StoredBatch;
  return {
    moment,
    settled,
    calls: calls.map(([name, at, kind = 'step', rest]) => ({ kind, name, at, ...rest })),
    entries: entries.map(([call, ok, ...value]) => ({
      call,
      ok: ok === 1,
      ...(value.length > 0 && { value: value[0]! }),
    })),
    attempts,
  };
}

function toStoredCall({ kind, name, at, ...rest }: RecordedCall): StoredCall {
  if (Object.keys(rest).length > 0) return [name, at, kind, rest];
  return kind === 'step' ? [name, at] : [name, at, kind];
}

function toStoredEntry({ call, ok, value }: Entry): StoredEntry {
  return value === undefined ? [call, ok ? 1 : 0] : [call, ok ? 1 : 0, value];
}
