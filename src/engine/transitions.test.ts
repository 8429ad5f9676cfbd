import { expect, test } from 'vitest';
import {
  BadAnswer,
  ClaimLost,
  DeadlineNotReached,
  IdempotencyKeyReused,
  NotARoot,
  NotClaimable,
  StillAlive,
  StillRetained,
  TaskIsDone,
  TaskIsEnding,
  TaskMoved,
} from '../model/errors.ts';
import type { InputRequest } from '../model/input.ts';
import type { Failed, Success } from '../model/outcome.ts';
import { openInputs, type Task } from '../model/task.ts';
import { aTask } from '../testing/fixtures.ts';
import { brokenInvariants } from '../testing/invariants.ts';
import type { Change, Family, Verdict } from './change.ts';
import * as rules from './transitions.ts';

// A small notebook of tasks: each command is put to the rules and, if allowed, written down.
const tasks = new Map<string, Task>();
const minute = 60_000;

function did(verdict: Verdict): Change {
  if (verdict instanceof Error) throw verdict;
  for (const { task } of verdict.writes) tasks.set(task.id, task);
  expect(brokenInvariants(tasks)).toEqual([]);
  return verdict;
}

function created(overrides: Parameters<typeof aTask>[0] = {}, at = 0): Task {
  return did(rules.create(undefined, aTask(overrides), at)).task;
}

function claimed(
  task: Task = created(),
  at = 0,
  name = 'worker',
): { task: Task; claim: { taskId: string; epoch: number } } {
  const next = did(rules.claim(now(task), { name, leaseUntil: at + 15_000 }, at)).task;
  return { task: next, claim: { taskId: next.id, epoch: next.epoch } };
}

function child(of: { claim: { taskId: string; epoch: number } }, at = 0): ReturnType<typeof claimed> {
  const request = aTask({ tool: 'summarise' });
  did(rules.startChild(tasks.get(of.claim.taskId)!, of.claim, request, at));
  return claimed(tasks.get(request.id)!, at);
}

function now(task: Task): Task {
  return tasks.get(task.id)!;
}

function family(task: Task): Family {
  const ancestors: Task[] = [];
  for (let at = now(task); at.parentId; at = ancestors.at(-1)!) ancestors.push(tasks.get(at.parentId)!);
  const below = (id: string): Task[] => {
    const own = [...tasks.values()].filter(({ parentId }) => parentId === id);
    return [...own, ...own.flatMap((one) => below(one.id))];
  };
  return { task: now(task), ancestors, descendants: below(task.id) };
}

const result: Success = { kind: 'result', isError: false, value: { content: [] } };
const failure: Failed = { kind: 'result', isError: true, value: { content: [], isError: true } };
const question: InputRequest = {
  kind: 'form',
  message: 'What is your name?',
  schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};
const ada = { action: 'accept', content: { name: 'Ada' } };

function asked(of: ReturnType<typeof claimed>, ...keys: string[]): Task {
  for (const key of keys) did(rules.ask(now(of.task), of.claim, { key, request: question }, 1));
  return now(of.task);
}

// --- A life -----------------------------------------------------------------------------------------------

test('a new task is queued, ready to be claimed, and its arguments open its journal', () => {
  const change = did(rules.create(undefined, aTask({ arguments: { topic: 'tides' } }), 5));
  expect(change.task).toMatchObject({ phase: 'queued', version: 1, epoch: 0, wakeAt: 5, createdAt: 5 });
  expect(change.writes[0]!.journal).toEqual([{ arguments: { topic: 'tides' } }]);
});

test('whoever makes a task may claim it in the same commit', () => {
  const holder = { name: 'me', leaseUntil: 15_000 };
  const { task } = did(rules.create(undefined, aTask(), 0, holder));
  expect(task).toMatchObject({ phase: 'running', epoch: 1, holder, version: 1 });
});

test('the same idempotency key with the same arguments gives the same task back', () => {
  const first = created({ idempotency: { key: 'k', argumentsDigest: 'a' } });
  const request = aTask({ idempotency: { key: 'k', argumentsDigest: 'a' } });
  expect(rules.create(first, request, 9)).toEqual({ task: first, writes: [], removed: [] });
});

test('the same idempotency key with other arguments is refused', () => {
  const first = created({ idempotency: { key: 'k', argumentsDigest: 'a' } });
  const request = aTask({ idempotency: { key: 'k', argumentsDigest: 'b' } });
  expect(rules.create(first, request, 9)).toBeInstanceOf(IdempotencyKeyReused);
});

test('a claim begins a pass under the next epoch', () => {
  const { task } = claimed();
  expect(task).toMatchObject({ phase: 'running', epoch: 1, holder: { name: 'worker', leaseUntil: 15_000 } });
});

test('a handler that returns completes the task, and it is kept from then on', () => {
  const { task, claim } = claimed(created({ retention: { from: 'finish', ms: minute } }));
  const done = did(rules.complete(family(task), claim, result, 500)).task;
  expect(done).toMatchObject({ phase: 'done', outcome: result, finishedAt: 500, purgeAt: 500 + minute });
  expect(done).not.toHaveProperty('holder');
});

test('reports change what a peer sees, and an empty report changes nothing', () => {
  const { task, claim } = claimed();
  const progress = { done: 1, total: 2 };
  const { task: told } = did(rules.report(task, claim, { message: 'Drafting', progress, pollMs: 250 }, 7));
  expect(told).toMatchObject({ statusMessage: 'Drafting', progress, pollMs: 250, updatedAt: 7 });
  expect(did(rules.report(told, claim, {}, 9)).writes).toEqual([]);
});

test('journal entries do not move the time that a peer sees', () => {
  const { task, claim } = claimed();
  const { task: next } = did(rules.record(task, claim, ['entry'], 99));
  expect(next).toMatchObject({ version: task.version + 1, updatedAt: task.updatedAt });
});

// --- Claims -----------------------------------------------------------------------------------------------

test('a task in the hands of a living worker cannot be claimed while its lease runs', () => {
  const { task } = claimed();
  expect(rules.claim(task, { name: 'thief', leaseUntil: 99_000 }, 14_999)).toBeInstanceOf(NotClaimable);
  expect(rules.claim(task, { name: 'heir', leaseUntil: 99_000 }, 15_000)).toMatchObject({
    task: { epoch: 2 },
  });
});

test('a dead worker is passed over at once, and only the one that was found dead', () => {
  const { task } = claimed();
  const heir = { name: 'heir', leaseUntil: 99_000 };
  expect(rules.claim(task, heir, 1, 'somebody else')).toBeInstanceOf(NotClaimable);
  const { writes } = did(rules.claim(task, heir, 1, 'worker'));
  expect(writes[0]!.events).toEqual([{ type: 'claimed', epoch: 2, holder: 'heir', takenFrom: 'worker' }]);
});

test('a worker that lost its claim can do nothing any more', () => {
  const { task, claim } = claimed();
  did(rules.claim(task, { name: 'heir', leaseUntil: 99_000 }, 20_000));
  const attempts = [
    rules.record(now(task), claim, ['late'], 20_001),
    rules.report(now(task), claim, { message: 'late' }, 20_001),
    rules.ask(now(task), claim, { key: 'late', request: question }, 20_001),
    rules.startChild(now(task), claim, aTask(), 20_001),
    rules.park(now(task), claim, { seenVersion: now(task).version, until: null }, 20_001),
    rules.release(now(task), claim, 20_001),
    rules.complete(family(task), claim, result, 20_001),
    rules.fail(family(task), claim, failure, 20_001),
  ];
  for (const attempt of attempts) expect(attempt).toBeInstanceOf(ClaimLost);
});

test('a claim that was given up cannot be used again', () => {
  const { task, claim } = claimed();
  did(rules.release(task, claim, 1));
  expect(rules.record(now(task), claim, ['late'], 2)).toBeInstanceOf(ClaimLost);
});

test('a parked task is claimable from its time on, and without one not before it is woken', () => {
  const { task, claim } = claimed();
  did(rules.park(task, claim, { seenVersion: task.version, until: 700 }, 1));
  expect(rules.claim(now(task), { name: 'w', leaseUntil: 9 }, 699)).toBeInstanceOf(NotClaimable);
  expect(rules.claim(now(task), { name: 'w', leaseUntil: 9 }, 700)).toMatchObject({ task: { epoch: 2 } });
});

test('a worker cannot park over something that it has not seen', () => {
  const of = claimed();
  const seenVersion = asked(of, 'name').version;
  did(rules.answer(now(of.task), { name: ada }, 2));
  const parked = rules.park(now(of.task), of.claim, { seenVersion, until: null }, 3);
  expect(parked).toBeInstanceOf(TaskMoved);
});

// --- Questions --------------------------------------------------------------------------------------------

test('a question makes the task wait, and its answer lets it run again', () => {
  const of = claimed();
  expect(asked(of, 'name').phase).toBe('waiting');
  const { task } = did(rules.answer(now(of.task), { name: ada }, 2));
  expect(task).toMatchObject({ phase: 'running', wakeAt: 0 });
  expect(task.inputs[0]).toMatchObject({ key: 'name', state: 'answered', response: ada });
});

test('S1686-36 S2663-56: with two questions open, one answer leaves the task waiting for the other', () => {
  const task = asked(claimed(), 'first', 'second');
  const { task: next } = did(rules.answer(task, { second: ada }, 2));
  expect(next.phase).toBe('waiting');
  expect(openInputs(next).map(({ key }) => key)).toEqual(['first']);
});

test('S2663-48 S2663-49 S2663-50: a question asked again gets a key of its own', () => {
  const of = claimed();
  asked(of, 'name', 'name');
  did(rules.answer(now(of.task), { name: ada, 'name~2': ada }, 2));
  const keys = asked(of, 'name', 'name~2').inputs.map(({ key }) => key);
  expect(keys).toEqual(['name', 'name~2', 'name~3', 'name~2~2']);
});

test('S2663-55: answers to questions that are not open are ignored', () => {
  const of = claimed();
  asked(of, 'name');
  const answered = did(rules.answer(now(of.task), { name: ada, nobodyAsked: ada }, 2)).task;
  expect(did(rules.answer(answered, { name: { action: 'decline' } }, 3)).task).toBe(answered);
});

test('an answer named after a part of every object is just an unknown answer', () => {
  const task = asked(claimed(), 'constructor', 'toString');
  expect(did(rules.answer(task, {}, 2)).writes).toEqual([]);
});

test('one answer that does not fit refuses the whole call', () => {
  const task = asked(claimed(), 'first', 'second');
  const verdict = rules.answer(task, { first: ada, second: { action: 'accept', content: { name: 7 } } }, 2);
  expect(verdict).toBeInstanceOf(BadAnswer);
  expect(verdict).toHaveProperty(
    'message',
    'The answer to "second" does not fit the question: "name" must be a string. No answer was applied.',
  );
});

test('a parked task is woken by an answer', () => {
  const of = claimed();
  const { version } = asked(of, 'name');
  did(rules.park(now(of.task), of.claim, { seenVersion: version, until: null }, 2));
  expect(did(rules.answer(now(of.task), { name: ada }, 30)).task).toMatchObject({
    wakeAt: 30,
    phase: 'running',
  });
});

test('a withdrawn question no longer waits for an answer', () => {
  const task = asked(claimed(), 'name');
  const { task: next } = did(rules.withdraw(task, ['name', 'unknown'], 2));
  expect(next).toMatchObject({ phase: 'running', inputs: [{ key: 'name', state: 'withdrawn' }] });
  expect(did(rules.answer(next, { name: ada }, 3)).writes).toEqual([]);
});

test('S1686-53: a task that ends takes its open questions back, and late answers change nothing', () => {
  const task = asked(claimed(), 'name');
  const { task: done } = did(rules.cancel(family(task), 2));
  expect(done.inputs).toMatchObject([{ state: 'withdrawn', withdrawnAt: 2 }]);
  expect(did(rules.answer(done, { name: ada }, 3)).task).toBe(done);
});

// --- Endings ----------------------------------------------------------------------------------------------

test('S1686-29 S2025-33: a task that is done never changes again', () => {
  const { task, claim } = claimed();
  did(rules.complete(family(task), claim, result, 1));
  expect(rules.cancel(family(task), 2)).toBeInstanceOf(TaskIsDone);
  expect(rules.passDeadline(family(task), 9e15)).toBeInstanceOf(TaskIsDone);
  expect(rules.fail(family(task), claim, failure, 2)).toBeInstanceOf(TaskIsDone);
  expect(rules.claim(now(task), { name: 'w', leaseUntil: 9 }, 2)).toBeInstanceOf(NotClaimable);
});

test('only the deadline ends live work, and not before its time', () => {
  const task = created({ deadlineMs: 1_000 }, 100);
  expect(rules.passDeadline(family(task), 1_099)).toBeInstanceOf(DeadlineNotReached);
  expect(did(rules.passDeadline(family(task), 1_100)).task).toMatchObject({ outcome: { kind: 'failure' } });
  const patient = created({ deadlineMs: null });
  expect(rules.passDeadline(family(patient), 9e15)).toBeInstanceOf(DeadlineNotReached);
});

test('S1686-39: a retention that counts from the end starts at the end, however long the work took', () => {
  const { task, claim } = claimed(created({ retention: { from: 'finish', ms: minute } }));
  did(rules.complete(family(task), claim, result, 10 * minute));
  expect(rules.purge(family(task), 11 * minute - 1)).toBeInstanceOf(StillRetained);
  expect(did(rules.purge(family(task), 11 * minute)).removed).toEqual([task.id]);
});

test('a ttl counts from creation, and leaves at least the floor to fetch the result', () => {
  const retention = { from: 'creation', ms: 5 * minute, floorMs: minute } as const;
  const quick = claimed(created({ retention }));
  did(rules.complete(family(quick.task), quick.claim, result, minute));
  expect(now(quick.task)).toMatchObject({ purgeAt: 5 * minute });
  const slow = claimed(created({ retention }));
  did(rules.complete(family(slow.task), slow.claim, result, 30 * minute));
  expect(now(slow.task)).toMatchObject({ purgeAt: 31 * minute });
});

test('retention without limit is never over', () => {
  const { task, claim } = claimed(created({ retention: { from: 'finish', ms: null } }));
  did(rules.complete(family(task), claim, result, 1));
  expect(rules.purge(family(task), 9e15)).toBeInstanceOf(StillRetained);
});

test('retention never ends live work', () => {
  const task = created({ retention: { from: 'creation', ms: 0, floorMs: 0 } });
  expect(rules.purge(family(task), 9e15)).toBeInstanceOf(StillAlive);
});

// --- Trees ------------------------------------------------------------------------------------------------

test('S2268-05 S2268-07: subtasks keep the order of their start, and the count never shrinks', () => {
  const parent = claimed();
  const first = child(parent);
  const second = child(parent);
  expect([first.task.ordinal, second.task.ordinal]).toEqual([0, 1]);
  did(rules.complete(family(first.task), first.claim, result, 1));
  expect(now(parent.task)).toMatchObject({ childCount: 2, liveChildCount: 1 });
});

test('a subtask belongs to the owner of its parent, and its root is the root of the tree', () => {
  const parent = claimed(created({ owner: 'bob' }));
  const grandchild = child(child(parent));
  expect(grandchild.task).toMatchObject({ owner: 'bob', rootId: parent.task.id, depth: 2 });
});

test('S2268-14: a subtask is written before the parent that names it', () => {
  const parent = claimed();
  const { writes } = did(rules.startChild(parent.task, parent.claim, aTask(), 1, ['entry']));
  expect(writes.map(({ task }) => task.depth)).toEqual([1, 0]);
  expect(writes[1]!.journal).toEqual(['entry']);
});

test('S2268-12: a task that is done, or only waits for its subtasks, starts no more of them', () => {
  const parent = claimed();
  const { task, claim } = child(parent);
  did(rules.complete(family(parent.task), parent.claim, result, 1));
  expect(rules.startChild(now(parent.task), parent.claim, aTask(), 2)).toBeInstanceOf(TaskIsEnding);
  did(rules.complete(family(task), claim, result, 3));
  expect(rules.startChild(now(parent.task), parent.claim, aTask(), 4)).toBeInstanceOf(TaskIsDone);
});

test('S2268-25: a parent that returns early holds its result until its last subtask is done', () => {
  const parent = claimed();
  const one = child(parent);
  const two = child(parent);
  did(rules.complete(family(parent.task), parent.claim, result, 1));
  expect(now(parent.task)).toMatchObject({ phase: 'running', heldOutcome: result, wakeAt: null });
  did(rules.complete(family(one.task), one.claim, result, 2));
  expect(now(parent.task).phase).toBe('running');
  did(rules.complete(family(two.task), two.claim, result, 3));
  expect(now(parent.task)).toMatchObject({ phase: 'done', outcome: result, finishedAt: 3 });
});

test('held results are given free all the way up', () => {
  const root = claimed();
  const middle = child(root);
  const leaf = child(middle);
  did(rules.complete(family(root.task), root.claim, result, 1));
  did(rules.complete(family(middle.task), middle.claim, result, 2));
  const { writes } = did(rules.complete(family(leaf.task), leaf.claim, result, 3));
  expect(writes.map(({ task }) => [task.depth, task.phase])).toEqual([
    [2, 'done'],
    [1, 'done'],
    [0, 'done'],
  ]);
});

test('a subtask that ends wakes a parent whose handler still runs', () => {
  const parent = claimed();
  const one = child(parent);
  did(rules.park(now(parent.task), parent.claim, { seenVersion: now(parent.task).version, until: null }, 1));
  did(rules.complete(family(one.task), one.claim, result, 40));
  expect(now(parent.task)).toMatchObject({ phase: 'running', wakeAt: 40 });
});

test('S2268-26: a parent that fails ends its living subtasks first, and keeps the outcome of the others', () => {
  const parent = claimed();
  const finished = child(parent);
  const living = child(parent);
  did(rules.complete(family(finished.task), finished.claim, result, 1));
  const { writes } = did(rules.fail(family(parent.task), parent.claim, failure, 2));
  expect(writes.map(({ task }) => task.id)).toEqual([living.task.id, parent.task.id]);
  expect(now(living.task)).toMatchObject({ outcome: { kind: 'cancelled' } });
  expect(now(finished.task)).toMatchObject({ outcome: result, finishedAt: 1 });
});

test('S2268-27 S2268-30: cancelling a task ends its whole subtree, the deepest first, in one change', () => {
  const root = claimed();
  const middle = child(root);
  const leaf = child(middle);
  const { writes } = did(rules.cancel(family(root.task), 5, 'Enough.'));
  expect(writes.map(({ task }) => task.id)).toEqual([leaf.task.id, middle.task.id, root.task.id]);
  for (const { task } of writes)
    expect(task).toMatchObject({ outcome: { kind: 'cancelled', reason: 'Enough.' } });
});

test('S2268-28: a subtask can be cancelled on its own', () => {
  const parent = claimed();
  const one = child(parent);
  did(rules.cancel(family(one.task), 5));
  expect(now(parent.task)).toMatchObject({ phase: 'running', liveChildCount: 0 });
});

test('cancel and deadline override a held result', () => {
  for (const end of [
    (task: Task) => rules.cancel(family(task), 9e15),
    (task: Task) => rules.passDeadline(family(task), 9e15),
  ]) {
    const parent = claimed();
    child(parent);
    did(rules.complete(family(parent.task), parent.claim, result, 1));
    expect(did(end(parent.task)).task).not.toMatchObject({ outcome: result });
  }
});

test('S2268-31: a subtask that waits for an answer does not make its parent wait for one', () => {
  const parent = claimed();
  asked(child(parent), 'confirm');
  expect(now(parent.task)).toMatchObject({ phase: 'running', inputs: [] });
});

test('S2268-13 S2268-15: a tree is purged as one unit, by its root alone', () => {
  const root = claimed(created({ retention: { from: 'finish', ms: 0 } }));
  const one = child(root);
  const two = child(one);
  did(rules.cancel(family(root.task), 5));
  expect(rules.purge(family(one.task), 6)).toBeInstanceOf(NotARoot);
  expect(did(rules.purge(family(root.task), 6)).removed).toEqual([two.task.id, one.task.id, root.task.id]);
});

test('when the clock goes back, a task does not: it never ends before its subtasks', () => {
  const parent = claimed(created({}, 1_000), 1_000);
  const one = child(parent, 1_000);
  did(rules.complete(family(parent.task), parent.claim, result, 2_000));
  did(rules.complete(family(one.task), one.claim, result, 500));
  expect(now(one.task)).toMatchObject({ finishedAt: 2_000 });
  expect(now(parent.task)).toMatchObject({ finishedAt: 2_000 });
});
