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

// --- A life -----------------------------------------------------------------------------------------------

test('a new task is queued, ready to be claimed, and its arguments open its journal', () => {
  const change = did(rules.create(undefined, aTask({ arguments: { topic: 'tides' } }), 5));
  expect(change.task).toMatchObject({ phase: 'queued', version: 1, epoch: 0, wakeAt: 5, createdAt: 5 });
  expect(change.writes[0]!.journal).toEqual([{ arguments: { topic: 'tides' } }]);
});

test('whoever makes a task may claim it in the same commit', () => {
  const holder = { name: 'me', leaseMs: 15_000 };
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
  expect(rules.create(first, request, 9)).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
});

test('a claim begins a pass under the next epoch', () => {
  const { task } = claimed();
  expect(task).toMatchObject({ phase: 'running', epoch: 1, holder: { name: 'worker', leaseUntil: 15_000 } });
});

test('a handler that returns completes the task, and it is kept from then on', () => {
  const { task, claim } = claimed(created({ retention: { from: 'finish', ms: minute } }));
  const done = did(rules.complete(family(task), claim, result, 500)).task;
  expect(done).toMatchObject({ phase: 'done', outcome: result, finishedAt: 500, purgeAt: 500 + minute });
  expect(done).not.toHaveProperty('worker');
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

const heir = { name: 'heir', leaseMs: 15_000 };

test('a held task cannot be claimed unless its lease expired, and was not renewed since', () => {
  const { task } = claimed();
  expect(rules.claim(task, heir, 99_000)).toMatchObject({ code: 'NOT_CLAIMABLE' });
  const renewed = { name: 'worker', leaseUntil: 14_999 };
  expect(rules.claim(task, heir, 99_000, renewed)).toMatchObject({ code: 'NOT_CLAIMABLE' });
  const expired = { name: 'worker', leaseUntil: 15_000 };
  expect(rules.claim(task, heir, 1, expired)).toMatchObject({ task: { deaths: 1 } });
});

test('a ready task can be claimed however far the clock was set back', () => {
  const task = created({}, 1_000_000);
  expect(rules.claim(task, heir, 0)).toMatchObject({ task: { epoch: 1 } });
});

/** Its process dies, and when it has rested another claims it. */
function survived(task: Task, name: string, at = 1_000): ActiveTask {
  const { worker: holder } = task as ActiveTask;
  const next = { ...heir, name };
  const rested = did(rules.claim(task, next, at, { name: holder!.name })).task as ActiveTask;
  return did(rules.claim(rested, next, rested.wakeAt!)).task as ActiveTask;
}

test('a pass that ended with its process counts as a death, unless it added to the journal', () => {
  const { task, claim } = claimed();
  const died = survived(task, 'heir');
  expect(died).toMatchObject({ deaths: 1 });
  expect(rules.isSuspect(died)).toBe(false);
  const again = survived(died, 'third');
  expect(again).toMatchObject({ deaths: 2 });
  expect(again).not.toHaveProperty('crashesAlone');
  expect(rules.isSuspect(again)).toBe(true);
  const advanced = did(rules.record(task, claim, ['entry'], 1)).task;
  expect(did(rules.claim(advanced, heir, 1, { name: 'worker' })).task).not.toHaveProperty('deaths');
});

test('a task that got nowhere before its process died rests before it is claimed again', () => {
  const { task } = claimed();
  const rested = did(rules.claim(task, heir, 1_000, { name: 'worker' }));
  expect(rested.task).toMatchObject({ deaths: 1, wakeAt: 3_000, epoch: task.epoch });
  expect(rested.task).not.toHaveProperty('worker');
  expect(rested.writes[0]!.events).toEqual([{ type: 'rested', until: 3_000, takenFrom: 'worker' }]);
  expect(rules.claim(rested.task, heir, 2_999)).toMatchObject({ code: 'NOT_CLAIMABLE' });
  expect(rules.claim(rested.task, heir, 3_000)).toMatchObject({ task: { epoch: task.epoch + 1, deaths: 1 } });
});

test('a death counts against a suspect only if it ran alone', () => {
  const suspect = survived(survived(claimed().task, 'second'), 'third');
  const alone = did(rules.isolate(suspect, { taskId: suspect.id, epoch: suspect.epoch }, 1)).task;
  const next = survived(alone, 'fourth');
  expect(next).toMatchObject({ deaths: 3, crashesAlone: 1, holder: { name: 'fourth' } });
  expect(next.worker).not.toHaveProperty('isAlone');
});

test('a worker that claims again what it gave up unfinished counts no death', () => {
  const { task } = claimed();
  const same = { ...heir, name: 'worker' };
  const expired = { name: 'worker', leaseUntil: 15_000 };
  expect(did(rules.claim(task, same, 1, expired)).task).not.toHaveProperty('deaths');
});

test('a dead worker whose task got somewhere is passed over at once, and only the one that was found dead', () => {
  const { task, claim } = claimed();
  const advanced = did(rules.record(task, claim, ['entry'], 1)).task;
  expect(rules.claim(advanced, heir, 1, { name: 'somebody else' })).toMatchObject({ code: 'NOT_CLAIMABLE' });
  const { writes } = did(rules.claim(advanced, heir, 1, { name: 'worker' }));
  expect(writes[0]!.events).toEqual([{ type: 'claimed', epoch: 2, holder: 'heir', takenFrom: 'worker' }]);
});

test('a worker that lost its claim can do nothing any more', () => {
  const { task, claim } = claimed();
  const advanced = did(rules.record(task, claim, ['entry'], 1)).task;
  did(rules.claim(advanced, heir, 20_000, { name: 'worker' }));
  expect(now(task)).toMatchObject({ epoch: claim.epoch + 1, holder: { name: 'heir' } });
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

test('a claim that was given up cannot be used again', () => {
  const { task, claim } = claimed();
  did(rules.release(task, claim, 1));
  expect(rules.record(now(task), claim, ['late'], 2)).toMatchObject({ code: 'CLAIM_LOST' });
});

test('a parked task is claimable from its time on, and without one not before it is woken', () => {
  const { task, claim } = claimed();
  did(rules.park(task, claim, { seenVersion: task.version, until: 700 }, 1));
  expect(rules.claim(now(task), { name: 'w', leaseMs: 9 }, 699)).toMatchObject({ code: 'NOT_CLAIMABLE' });
  expect(rules.claim(now(task), { name: 'w', leaseMs: 9 }, 700)).toMatchObject({ task: { epoch: 2 } });
});

test('a worker cannot park over something that it has not seen', () => {
  const of = claimed();
  const seenVersion = asked(of, 'name').version;
  did(rules.answer(now(of.task), { name: ada }, 2));
  const parked = rules.park(now(of.task), of.claim, { seenVersion, until: null }, 3);
  expect(parked).toMatchObject({ code: 'TASK_MOVED' });
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
  expect(verdict).toMatchObject({ code: 'BAD_ANSWER' });
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
