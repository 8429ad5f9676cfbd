/**
 * Tasks and events as compact JSON. A task omits fields with their default values; the two most frequent events are
 * stored without field names. Large results are stored in a separate row, which keeps polling and listing cheap.
 */
import type { TaskEvent } from '../../model/event.ts';
import type { Json } from '../../model/json.ts';
import type { Outcome } from '../../model/outcome.ts';
import type { ActiveTask, DoneTask, Task, TaskId } from '../../model/task.ts';
import { Corrupt, CorruptRecord, readingTask } from './corrupt.ts';
import type { Cells } from './encryption/cells.ts';

// --- Tasks ------------------------------------------------------------------------------------------------

/** A result whose JSON is longer than this is stored in a separate row. In characters. */
const largeResult = 256 * 1024;

/** A result that is stored in a separate row. Its value here is null; `apart` is the length of its JSON. */
type SeparateResult = Extract<Outcome, { kind: 'result' }> & { readonly apart: number };

export function hasSeparateResult(task: Task): task is DoneTask & { readonly outcome: SeparateResult } {
  return task.phase === 'done' && isSeparate(task.outcome);
}

export function isEndedRoot(task: Task): task is DoneTask {
  return task.phase === 'done' && task.parentId === undefined;
}

/** The text for the row of the task, and a large result for a separate row, if it is not stored there yet. */
export function bodyOf(task: Task): { readonly body: string; readonly large?: string } {
  const outcome = task.phase === 'done' ? task.outcome : task.heldOutcome;
  if (outcome?.kind !== 'result' || isSeparate(outcome)) return { body: taskText(task) };
  const large = JSON.stringify(outcome.value);
  if (large.length <= largeResult) return { body: taskText(task) };
  const apart = { ...outcome, value: null, apart: large.length };
  const slim: Task =
    task.phase === 'done' ? { ...task, outcome: apart } : ({ ...task, heldOutcome: apart } as ActiveTask);
  return { body: taskText(slim), large };
}

/** The task as JSON. `undefined` omits a field; `taskIn` restores it. */
function taskText(task: Task): string {
  return JSON.stringify({
    ...task,
    rootId: task.rootId === task.id ? undefined : task.rootId,
    ordinal: task.ordinal || undefined,
    depth: task.depth || undefined,
    childCount: task.childCount || undefined,
    liveChildCount: task.liveChildCount || undefined,
    inputs: task.inputs.length > 0 ? task.inputs : undefined,
  });
}

/** Parses the text of a task. */
export function taskIn(text: string): Task {
  const stored = JSON.parse(text) as (Partial<Task> & Pick<Task, 'id'>) | null;
  if (!stored?.id) throw new Corrupt('a stored task is not readable');
  return {
    rootId: stored.id,
    ordinal: 0,
    depth: 0,
    childCount: 0,
    liveChildCount: 0,
    inputs: [],
    ...stored,
  } as Task;
}

export interface TaskRow<Text> {
  readonly id: TaskId;
  readonly body: Text;
  readonly lease_until: number | null;
}

/** Decrypts and parses a row. Throws `CorruptRecord`. */
export function taskOf<Text>({ id, body, lease_until }: TaskRow<Text>, cells: Cells<Text>): Task {
  const task = readingTask(id, () => taskIn(cells.read(body, 'tasks.body', id)));
  if (task.id !== id) throw new CorruptRecord(id, 'its row contains another task');
  return withLease(task, lease_until);
}

/** The task with its result from the separate row. */
export function withResult<Text>(
  task: DoneTask & { readonly outcome: SeparateResult },
  stored: Text,
  cells: Cells<Text>,
): Task {
  const { apart: _, ...outcome } = task.outcome;
  const value = readingTask(task.id, () => JSON.parse(cells.read(stored, 'results.value', task.id)));
  return { ...task, outcome: { ...outcome, value } };
}

/** The task with the lease from its column, because renewing a lease updates only the column, not the body. */
export function withLease(task: Task, leaseUntil: number | null): Task {
  if (leaseUntil === null || task.phase === 'done' || !task.worker || task.worker.leaseUntil === leaseUntil)
    return task;
  return { ...task, worker: { ...task.worker, leaseUntil } };
}

function isSeparate(outcome: Outcome): outcome is SeparateResult {
  return 'apart' in outcome;
}

// --- Events -----------------------------------------------------------------------------------------------

/** `recorded` is stored as its number of entries, `claimed` as an epoch and a worker, any other event as it is. */
type StoredEvent = number | readonly [number, string] | TaskEvent;

export function eventsText(events: readonly TaskEvent[]): string {
  return JSON.stringify(
    events.map((event): StoredEvent => {
      if (event.type === 'recorded') return event.entries;
      if (event.type === 'claimed' && event.takenFrom === undefined) return [event.epoch, event.worker];
      return event;
    }),
  );
}

export function eventsIn(text: string): TaskEvent[] {
  return (JSON.parse(text) as StoredEvent[]).map((stored): TaskEvent => {
    if (typeof stored === 'number') return { type: 'recorded', entries: stored };
    if ('type' in stored) return stored;
    return { type: 'claimed', epoch: stored[0], worker: stored[1] };
  });
}

/**
 * Parses the text that `read` returns. A commit with unreadable events is delivered without them, so that it does not
 * block later commits.
 */
export function eventsOrNone(id: TaskId, read: () => string): readonly TaskEvent[] {
  try {
    return readingTask(id, () => eventsIn(read()));
  } catch (error) {
    if (error instanceof CorruptRecord) return [];
    throw error;
  }
}

// --- Journals ---------------------------------------------------------------------------------------------

/**
 * Joins the parts of a task's journal. `count` is the number of commits with a part, from the row of the task. Throws
 * `CorruptRecord` if one is missing.
 */
export function journalIn<Text>(
  id: TaskId,
  commits: readonly { readonly version: number; readonly journal: Text }[],
  count: number,
  cells: Cells<Text>,
): Json[] {
  const isInOrder = commits.every(({ version }, n) => version > (commits[n - 1]?.version ?? 0));
  if (commits.length !== count || !isInOrder || commits[0]?.version !== 1)
    throw new CorruptRecord(id, 'some of its commits are missing');
  return readingTask(id, () =>
    commits.flatMap(
      ({ version, journal }) => JSON.parse(cells.read(journal, 'commits.journal', id, version)) as Json[],
    ),
  );
}
