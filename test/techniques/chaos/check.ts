/**
 * Is the whole database in order? The invariants of the model, and what SQLite keeps beside the tasks: the columns
 * repeat the body, the commits of a task tell its whole story without a gap, and nothing is parked for ever.
 */
import { isDeepStrictEqual } from 'node:util';
import type { TaskEvent } from '../../../src/model/event.ts';
import { openInputs, type Task } from '../../../src/model/task.ts';
import { brokenInvariants } from '../../../src/testing/invariants.ts';
import { type Commit, readSnapshot, type Snapshot, type TaskRow } from './snapshot.ts';

export function problemsIn(file: string): string[] {
  return problemsOf(readSnapshot(file));
}

export function problemsOf(snapshot: Snapshot): string[] {
  const problems = [
    ...snapshot.integrity.map((found) => `SQLite's integrity check: ${found}`),
    ...snapshot.stray.map((seq) => `commit ${seq} belongs to no task`),
    ...brokenInvariants(snapshot.tasks),
    ...removalProblems(snapshot),
  ];
  const inOrder = [...snapshot.tasks.values()].toSorted((a, b) => a.ordinal - b.ordinal);
  const children = Map.groupBy(inOrder, ({ parentId }) => parentId);
  for (const row of snapshot.rows) {
    const task = snapshot.tasks.get(row.id)!;
    const subtasks = (children.get(row.id) ?? []).map(({ id }) => id);
    const found = [
      ...columnProblems(row, task),
      ...stateProblems(task),
      ...storyProblems(task, snapshot.commits.get(row.id) ?? [], subtasks),
    ];
    const whose = `${row.id} (${task.phase}, version ${task.version})`;
    problems.push(...found.map((problem) => `${whose}: ${problem}`));
  }
  return problems;
}

function columnProblems(row: TaskRow, task: Task): string[] {
  const live = task.phase === 'done' ? undefined : task;
  const expected = {
    id: task.id,
    owner: task.owner,
    tool: task.tool,
    tool_version: task.toolVersion,
    parent_id: task.parentId ?? null,
    ordinal: task.ordinal,
    epoch: task.epoch,
    worker: live?.worker?.name ?? null,
    wake_at: live?.wakeAt ?? null,
    deadline_at: live?.deadlineAt ?? null,
    purge_at: task.phase === 'done' ? task.purgeAt : null,
    ended_at: task.phase === 'done' && !task.parentId ? task.finishedAt : null,
    idempotency_key: task.idempotency?.key ?? null,
  };
  const problems = Object.entries(expected)
    .filter(([column, value]) => row[column] !== value)
    .map(([column, value]) => `its column ${column} says ${row[column]}, its body ${value}`);
  if ((row.worker === null) !== (row.lease_until === null))
    problems.push('has a worker or a lease, not both');
  return problems;
}

function stateProblems(task: Task): string[] {
  const problems: string[] = [];
  if (task.phase === 'done') {
    if (task.outcome === undefined) problems.push('is done without an outcome');
    return problems;
  }
  if (task.phase !== 'queued' && task.epoch === 0) problems.push('has begun without ever being claimed');
  if (task.heldOutcome && task.wakeAt !== null)
    problems.push('could be claimed though its handler has ended');
  // Random work parks without a timer only on a question or a subtask; with neither, a wake was slept through.
  if (!task.worker && task.wakeAt === null && openInputs(task).length === 0 && task.liveChildCount === 0)
    problems.push('is parked and nothing will ever wake it');
  return problems;
}

/** The events of a task, in the order of its versions, must tell how it came to be what it is. */
function storyProblems(task: Task, commits: readonly Commit[], children: readonly string[]): string[] {
  const problems: string[] = [];
  const versions = commits.map(({ version }) => version);
  if (versions.length !== task.version || versions.some((version, index) => version !== index + 1))
    problems.push(`its commits have the versions ${versions.join(', ')}`);

  const events = commits.flatMap((commit) => commit.events);
  const all = <T extends TaskEvent['type']>(type: T) =>
    events.filter((event): event is Extract<TaskEvent, { type: T }> => event.type === type);
  const same = (what: string, told: unknown, is: unknown) => {
    if (!isDeepStrictEqual(told, is))
      problems.push(`its story tells of ${what} ${JSON.stringify(told)}, it has ${JSON.stringify(is)}`);
  };
  const epochs = all('claimed').map(({ epoch }) => epoch);
  const started = all('childStarted').map(({ childId }) => childId);
  const ends = all('finished').map(({ outcome }) => outcome);
  const inState = (wanted: string) => task.inputs.filter(({ state }) => state === wanted);
  same('births', all('created').length, 1);
  same('first event', events[0]?.type, 'created');
  same('epochs', epochs, upTo(task.epoch));
  same('subtasks', started, children);
  same('questions', keysOf(all('asked')), keysOf(task.inputs));
  same('answers', keysOf(all('answered')).sort(), keysOf(inState('answered')).sort());
  same('withdrawals', keysOf(all('withdrawn')).sort(), keysOf(inState('withdrawn')).sort());
  same('ends', ends, task.phase === 'done' ? [task.outcome.kind] : []);
  if (task.phase === 'done') same('last event', events.at(-1)?.type, 'finished');
  // A task that failed or was cancelled ended its last subtasks itself, and was not told.
  else same('ended subtasks', all('childDone').length, task.childCount - task.liveChildCount);
  for (const { version, events, journal } of commits) {
    const entries = events.reduce((sum, event) => sum + (event.type === 'recorded' ? event.entries : 0), 0);
    if (entries > 0) same(`journal entries in version ${version}`, entries, journal?.length ?? 0);
  }
  return problems;
}

function removalProblems({ removals, tasks }: Snapshot): string[] {
  return [...removals].flatMap(([id, notices]) => [
    ...(tasks.has(id) ? [`${id}: is there though it was removed`] : []),
    ...(notices.length > 1 ? [`${id}: was removed ${notices.length} times`] : []),
  ]);
}

function upTo(n: number): number[] {
  return Array.from({ length: n }, (_, index) => index + 1);
}

function keysOf(keyed: readonly { readonly key: string }[]): string[] {
  return keyed.map(({ key }) => key);
}
