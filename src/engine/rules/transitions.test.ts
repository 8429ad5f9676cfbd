import { expect, test } from 'vitest';
import type { ActiveTask, Task } from '../../model/task.ts';
import { openInputs } from '../../model/task.ts';
import { aTask } from '../../testing/fixtures.ts';
import {
  ada,
  asked,
  claimed,
  created,
  did,
  failure,
  family,
  now,
  question,
  result,
} from '../../testing/notebook.ts';
import * as rules from './transitions.ts';

const minute = 60_000;

// --- Lifecycle -----------------------------------------------------------------------------------------------

test('a new task is queued and ready to be claimed, and its journal begins with its arguments', () => {
  const change = did(rules.create(undefined, aTask({ arguments: { topic: 'tides' } }), 5));
  expect(change.task).toMatchObject({ phase: 'queued', version: 1, epoch: 0, wakeAt: 5, createdAt: 5 });
  expect(change.writes[0]!.journal).toEqual([{ arguments: { topic: 'tides' } }]);
});

test('a worker that creates a task can claim it in the same commit', () => {
  const worker = { name: 'me', leaseMs: 15_000 };
  const { task } = did(rules.create(undefined, aTask(), 0, worker));
  expect(task).toMatchObject({ phase: 'running', epoch: 1, worker, version: 1 });
});

test('the same idempotency key with the same arguments returns the same task', () => {
  const first = created({ idempotency: { key: 'k', argumentsDigest: 'a' } });
  const request = aTask({ idempotency: { key: 'k', argumentsDigest: 'a' } });
  expect(rules.create(first, request, 9)).toEqual({ task: first, writes: [], removed: [] });
});

test('the same idempotency key with different arguments is refused', () => {
  const first = created({ idempotency: { key: 'k', argumentsDigest: 'a' } });
  const request = aTask({ idempotency: { key: 'k', argumentsDigest: 'b' } });
  expect(rules.create(first, request, 9)).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
});

test('a claim begins a pass under the next epoch', () => {
  const { task } = claimed();
  expect(task).toMatchObject({ phase: 'running', epoch: 1, worker: { name: 'worker', leaseUntil: 15_000 } });
});

test('a handler that returns completes the task, and its retention begins', () => {
  const { task, claim } = claimed(created({ retention: { from: 'finish', ms: minute } }));
  const done = did(rules.complete(family(task), claim, result, 500)).task;
  expect(done).toMatchObject({ phase: 'done', outcome: result, finishedAt: 500, purgeAt: 500 + minute });
  expect(done).not.toHaveProperty('worker');
});

test('a report changes what a peer sees, and an empty report changes nothing', () => {
  const { task, claim } = claimed();
  const progress = { done: 1, total: 2 };
  const { task: updated } = did(rules.report(task, claim, { message: 'Drafting', progress, pollMs: 250 }, 7));
  expect(updated).toMatchObject({ statusMessage: 'Drafting', progress, pollMs: 250, updatedAt: 7 });
  expect(did(rules.report(updated, claim, {}, 9)).writes).toEqual([]);
});

test('journal entries do not change the updatedAt that a peer sees', () => {
  const { task, claim } = claimed();
  const { task: next } = did(rules.record(task, claim, ['entry'], 99));
  expect(next).toMatchObject({ version: task.version + 1, updatedAt: task.updatedAt });
});

// --- Claims -----------------------------------------------------------------------------------------------

const successor = { name: 'successor', leaseMs: 15_000 };

test('a claimed task cannot be claimed again unless its lease expired and was not renewed since', () => {
  const { task } = claimed();
  expect(rules.claim(task, successor, 99_000)).toMatchObject({ code: 'NOT_CLAIMABLE' });
  const renewed = { name: 'worker', leaseUntil: 14_999 };
  expect(rules.claim(task, successor, 99_000, renewed)).toMatchObject({ code: 'NOT_CLAIMABLE' });
  const expired = { name: 'worker', leaseUntil: 15_000 };
  expect(rules.claim(task, successor, 1, expired)).toMatchObject({ task: { crashes: 1 } });
});

test('a ready task can be claimed even if the clock was set back', () => {
  const task = created({}, 1_000_000);
  expect(rules.claim(task, successor, 0)).toMatchObject({ task: { epoch: 1 } });
});

/** The process dies, and another worker claims the task after its rest. */
function survived(task: Task, name: string, at = 1_000): ActiveTask {
  const { worker } = task as ActiveTask;
  const next = { ...successor, name };
  const rested = did(rules.claim(task, next, at, { name: worker!.name })).task as ActiveTask;
  return did(rules.claim(rested, next, rested.wakeAt!)).task as ActiveTask;
}

test('a pass whose process died counts as a crash, unless it added to the journal', () => {
  const { task, claim } = claimed();
  const died = survived(task, 'successor');
  expect(died).toMatchObject({ crashes: 1 });
  expect(rules.isSuspect(died)).toBe(false);
  const again = survived(died, 'third');
  expect(again).toMatchObject({ crashes: 2 });
  expect(again).not.toHaveProperty('crashesAlone');
  expect(rules.isSuspect(again)).toBe(true);
  const advanced = did(rules.record(task, claim, ['entry'], 1)).task;
  expect(did(rules.claim(advanced, successor, 1, { name: 'worker' })).task).not.toHaveProperty('crashes');
});

test('a task that made no progress before its process died rests before it is claimed again', () => {
  const { task } = claimed();
  const rested = did(rules.claim(task, successor, 1_000, { name: 'worker' }));
  expect(rested.task).toMatchObject({ crashes: 1, wakeAt: 3_000, epoch: task.epoch });
  expect(rested.task).not.toHaveProperty('worker');
  expect(rested.writes[0]!.events).toEqual([{ type: 'rested', until: 3_000, takenFrom: 'worker' }]);
  expect(rules.claim(rested.task, successor, 2_999)).toMatchObject({ code: 'NOT_CLAIMABLE' });
  expect(rules.claim(rested.task, successor, 3_000)).toMatchObject({
    task: { epoch: task.epoch + 1, crashes: 1 },
  });
});

test('a crash counts against a suspect only if it ran alone', () => {
  const suspect = survived(survived(claimed().task, 'second'), 'third');
  const alone = did(rules.isolate(suspect, { taskId: suspect.id, epoch: suspect.epoch }, 1)).task;
  const next = survived(alone, 'fourth');
  expect(next).toMatchObject({ crashes: 3, crashesAlone: 1, worker: { name: 'fourth' } });
  expect(next.worker).not.toHaveProperty('isAlone');
});

test('a worker that claims its own unfinished task again does not count a crash', () => {
  const { task } = claimed();
  const same = { ...successor, name: 'worker' };
  const expired = { name: 'worker', leaseUntil: 15_000 };
  expect(did(rules.claim(task, same, 1, expired)).task).not.toHaveProperty('crashes');
});

test('a task that made progress is taken over at once, and only from the worker that was found dead', () => {
  const { task, claim } = claimed();
  const advanced = did(rules.record(task, claim, ['entry'], 1)).task;
  expect(rules.claim(advanced, successor, 1, { name: 'another' })).toMatchObject({ code: 'NOT_CLAIMABLE' });
  const { writes } = did(rules.claim(advanced, successor, 1, { name: 'worker' }));
  expect(writes[0]!.events).toEqual([
    { type: 'claimed', epoch: 2, worker: 'successor', takenFrom: 'worker' },
  ]);
});

test('a worker that lost its claim cannot commit anything', () => {
  const { task, claim } = claimed();
  const advanced = did(rules.record(task, claim, ['entry'], 1)).task;
  did(rules.claim(advanced, successor, 20_000, { name: 'worker' }));
  expect(now(task)).toMatchObject({ epoch: claim.epoch + 1, worker: { name: 'successor' } });
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
  for (const attempt of attempts) expect(attempt).toMatchObject({ code: 'CLAIM_LOST' });
});

test('a released claim cannot be used again', () => {
  const { task, claim } = claimed();
  did(rules.release(task, claim, 1));
  expect(rules.record(now(task), claim, ['late'], 2)).toMatchObject({ code: 'CLAIM_LOST' });
});

test('a parked task is claimable from its wake time on; without one, only after something wakes it', () => {
  const { task, claim } = claimed();
  did(rules.park(task, claim, { seenVersion: task.version, until: 700 }, 1));
  expect(rules.claim(now(task), { name: 'w', leaseMs: 9 }, 699)).toMatchObject({ code: 'NOT_CLAIMABLE' });
  expect(rules.claim(now(task), { name: 'w', leaseMs: 9 }, 700)).toMatchObject({ task: { epoch: 2 } });
});

test('a worker cannot park a task with a change that it has not read', () => {
  const of = claimed();
  const seenVersion = asked(of, 'name').version;
  did(rules.answer(now(of.task), { name: ada }, 2));
  const parked = rules.park(now(of.task), of.claim, { seenVersion, until: null }, 3);
  expect(parked).toMatchObject({ code: 'TASK_MOVED' });
});

// --- Questions --------------------------------------------------------------------------------------------

test('a question makes the task wait, and the answer lets it run again', () => {
  const of = claimed();
  expect(asked(of, 'name').phase).toBe('waiting');
  const { task } = did(rules.answer(now(of.task), { name: ada }, 2));
  expect(task).toMatchObject({ phase: 'running', wakeAt: 0 });
  expect(task.inputs[0]).toMatchObject({ key: 'name', state: 'answered', response: ada });
});

test('S1686-36 S2663-56: with two open questions, one answer leaves the task waiting for the other', () => {
  const task = asked(claimed(), 'first', 'second');
  const { task: next } = did(rules.answer(task, { second: ada }, 2));
  expect(next.phase).toBe('waiting');
  expect(openInputs(next).map(({ key }) => key)).toEqual(['first']);
});

test('S2663-48 S2663-49 S2663-50: a question with a used key gets a new key', () => {
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

test('a key that is also a property of every object is just an unknown key', () => {
  const task = asked(claimed(), 'constructor', 'toString');
  expect(did(rules.answer(task, {}, 2)).writes).toEqual([]);
});

test('if one answer does not fit, the whole call is refused', () => {
  const task = asked(claimed(), 'first', 'second');
  const verdict = rules.answer(task, { first: ada, second: { action: 'accept', content: { name: 7 } } }, 2);
  expect(verdict).toMatchObject({ code: 'BAD_ANSWER' });
  expect(verdict).toHaveProperty(
    'message',
    'The answer to "second" does not fit the question: "name" must be a string. No answer was applied.',
  );
});

test('an answer wakes a parked task', () => {
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

test('S1686-53: a task that ends withdraws its open questions, and late answers change nothing', () => {
  const task = asked(claimed(), 'name');
  const { task: done } = did(rules.cancel(family(task), 2));
  expect(done.inputs).toMatchObject([{ state: 'withdrawn', withdrawnAt: 2 }]);
  expect(did(rules.answer(done, { name: ada }, 3)).task).toBe(done);
});
