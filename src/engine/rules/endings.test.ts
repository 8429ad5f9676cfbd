import { expect, test } from 'vitest';
import type { Task } from '../../model/task.ts';
import { aTask } from '../../testing/fixtures.ts';
import { asked, child, claimed, created, did, failure, family, now, result } from '../../testing/notebook.ts';
import * as rules from './transitions.ts';

const minute = 60_000;

// --- Endings ----------------------------------------------------------------------------------------------

test('S1686-29 S2025-33: a task that is done never changes again', () => {
  const { task, claim } = claimed();
  did(rules.complete(family(task), claim, result, 1));
  expect(rules.cancel(family(task), 2)).toMatchObject({ code: 'TASK_IS_DONE' });
  expect(rules.passDeadline(family(task), 9e15)).toMatchObject({ code: 'TASK_IS_DONE' });
  expect(rules.fail(family(task), claim, failure, 2)).toMatchObject({ code: 'TASK_IS_DONE' });
  expect(rules.claim(now(task), { name: 'w', leaseMs: 9 }, 2)).toMatchObject({ code: 'NOT_CLAIMABLE' });
});

test('only the deadline ends live work, and not before it is reached', () => {
  const task = created({ deadlineMs: 1_000 }, 100);
  expect(rules.passDeadline(family(task), 1_099)).toMatchObject({ code: 'DEADLINE_NOT_REACHED' });
  expect(did(rules.passDeadline(family(task), 1_100)).task).toMatchObject({ outcome: { kind: 'failure' } });
  const patient = created({ deadlineMs: null });
  expect(rules.passDeadline(family(patient), 9e15)).toMatchObject({ code: 'DEADLINE_NOT_REACHED' });
});

test('S1686-39: a retention that counts from the finish starts then, however long the work took', () => {
  const { task, claim } = claimed(created({ retention: { from: 'finish', ms: minute } }));
  did(rules.complete(family(task), claim, result, 10 * minute));
  expect(rules.purge(family(task), 11 * minute - 1)).toMatchObject({ code: 'STILL_RETAINED' });
  expect(did(rules.purge(family(task), 11 * minute)).removed).toEqual([task.id]);
});

test('a ttl counts from creation, and the result stays readable for at least the floor', () => {
  const retention = { from: 'creation', ms: 5 * minute, floorMs: minute } as const;
  const quick = claimed(created({ retention }));
  did(rules.complete(family(quick.task), quick.claim, result, minute));
  expect(now(quick.task)).toMatchObject({ purgeAt: 5 * minute });
  const slow = claimed(created({ retention }));
  did(rules.complete(family(slow.task), slow.claim, result, 30 * minute));
  expect(now(slow.task)).toMatchObject({ purgeAt: 31 * minute });
});

test('a retention without limit never ends', () => {
  const { task, claim } = claimed(created({ retention: { from: 'finish', ms: null } }));
  did(rules.complete(family(task), claim, result, 1));
  expect(rules.purge(family(task), 9e15)).toMatchObject({ code: 'STILL_RETAINED' });
});

test('a full store removes finished trees early: as a whole, and not those that finished just now', () => {
  const root = claimed(created({ retention: { from: 'finish', ms: null } }));
  const one = child(root);
  did(rules.cancel(family(one.task), 4));
  expect(rules.crowdOut(family(root.task), 9e15, 9e15)).toMatchObject({ code: 'STILL_ALIVE' });
  expect(rules.crowdOut(family(one.task), 9e15, 9e15)).toMatchObject({ code: 'NOT_A_ROOT' });
  did(rules.complete(family(root.task), root.claim, result, 5));
  expect(rules.crowdOut(family(root.task), 4, 9)).toMatchObject({ code: 'STILL_RETAINED' });
  expect(did(rules.crowdOut(family(root.task), 5, 9))).toMatchObject({
    removed: [one.task.id, root.task.id],
    removal: { why: 'crowdedOut', at: 9 },
  });
});

test('retention never ends live work', () => {
  const task = created({ retention: { from: 'creation', ms: 0, floorMs: 0 } });
  expect(rules.purge(family(task), 9e15)).toMatchObject({ code: 'STILL_ALIVE' });
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

test('S2268-12: a task that is done, or only waits for its subtasks, cannot start another', () => {
  const parent = claimed();
  const { task, claim } = child(parent);
  did(rules.complete(family(parent.task), parent.claim, result, 1));
  expect(rules.startChild(now(parent.task), parent.claim, aTask(), 2)).toMatchObject({
    code: 'TASK_IS_ENDING',
  });
  did(rules.complete(family(task), claim, result, 3));
  expect(rules.startChild(now(parent.task), parent.claim, aTask(), 4)).toMatchObject({
    code: 'TASK_IS_DONE',
  });
});

test('S2268-25: the result of a parent that returns early is held back until its last subtask is done', () => {
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

test('results that were held back are released all the way up', () => {
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

test('a subtask that ends wakes its parked parent', () => {
  const parent = claimed();
  const one = child(parent);
  did(rules.park(now(parent.task), parent.claim, { seenVersion: now(parent.task).version, until: null }, 1));
  did(rules.complete(family(one.task), one.claim, result, 40));
  expect(now(parent.task)).toMatchObject({ phase: 'running', wakeAt: 40 });
});

test('S2268-26: a parent that fails cancels its live subtasks first, and finished subtasks keep their outcome', () => {
  const parent = claimed();
  const finished = child(parent);
  const living = child(parent);
  did(rules.complete(family(finished.task), finished.claim, result, 1));
  const { writes } = did(rules.fail(family(parent.task), parent.claim, failure, 2));
  expect(writes.map(({ task }) => task.id)).toEqual([living.task.id, parent.task.id]);
  expect(now(living.task)).toMatchObject({ outcome: { kind: 'cancelled' } });
  expect(now(finished.task)).toMatchObject({ outcome: result, finishedAt: 1 });
});

test('S2268-27 S2268-30: cancelling a task cancels its whole subtree, bottom-up, in one change', () => {
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

test('cancel and deadline override a result that is held back', () => {
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

test('S2268-31: a subtask that waits for an answer does not put its parent into the waiting phase', () => {
  const parent = claimed();
  asked(child(parent), 'confirm');
  expect(now(parent.task)).toMatchObject({ phase: 'running', inputs: [] });
});

test('S2268-13 S2268-15: a tree is purged as one unit, and only through its root', () => {
  const root = claimed(created({ retention: { from: 'finish', ms: 0 } }));
  const one = child(root);
  const two = child(one);
  did(rules.cancel(family(root.task), 5));
  expect(rules.purge(family(one.task), 6)).toMatchObject({ code: 'NOT_A_ROOT' });
  expect(did(rules.purge(family(root.task), 6)).removed).toEqual([two.task.id, one.task.id, root.task.id]);
});

test('a task never finishes before its subtasks, even if the clock goes back', () => {
  const parent = claimed(created({}, 1_000), 1_000);
  const one = child(parent, 1_000);
  did(rules.complete(family(parent.task), parent.claim, result, 2_000));
  did(rules.complete(family(one.task), one.claim, result, 500));
  expect(now(one.task)).toMatchObject({ finishedAt: 2_000 });
  expect(now(parent.task)).toMatchObject({ finishedAt: 2_000 });
});

// --- Plain calls ------------------------------------------------------------------------------------------

test('a request that is cancelled through another process cancels its task, unless the task was handed over', () => {
  const join = { key: 'a call', session: 'a session', call: 'a' };
  const called = () => created({ unpublished: { servedBy: 'a', until: minute, join } });
  const open = called();
  expect(did(rules.cancelRequest(family(open), 1, 'Enough.')).task).toMatchObject({
    outcome: { kind: 'cancelled', reason: 'Enough.' },
    unpublished: { isCancelled: true },
  });
  expect(rules.cancelRequest(family(open), 2)).toMatchObject({ code: 'TASK_IS_DONE' });
  const handedOver = called();
  did(rules.publish(now(handedOver), 1));
  expect(rules.cancelRequest(family(handedOver), 2)).toMatchObject({ code: 'ALREADY_PUBLISHED' });
});
