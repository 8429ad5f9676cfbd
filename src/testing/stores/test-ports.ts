/** The test suites for the smaller ports of every database: secrets, sessions, plain calls and the audit log. */
import assert from 'node:assert/strict';
import * as rules from '../../engine/rules/transitions.ts';
import { refusal } from '../../model/errors.ts';
import { pagesOf } from '../../model/paging.ts';
import { cancelledAnswering, type Join, newCall, requestLength, type TaskId } from '../../model/task.ts';
import type { Audit, AuditEntry, AuditQuery } from '../../ports/audit.ts';
import type { Change } from '../../ports/change.ts';
import type { SessionRecord } from '../../ports/sessions.ts';
import { aTask } from '../fixtures.ts';
import type { StoreCommands } from './store-commands.ts';
import { checks, type SuiteOptions } from './suite.ts';

// --- Secrets ------------------------------------------------------------------------------------------------

export function testSecrets(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check('a secret is created on first use and never changes', async ({ secrets }) => {
    const key = await secrets.get('states');
    assert.equal(key.byteLength, 32);
    assert.deepEqual(await secrets.get('states'), key);
    assert.notDeepEqual(key, new Uint8Array(32));
    assert.notDeepEqual(key, await secrets.get('cursors'));
  });

  checkShared(
    'processes that read a secret at the same time get the same one',
    async ({ secrets, again }) => {
      const others = [await again(), await again()];
      const all = [secrets, ...others.map((other) => other.secrets)].map((one) => one.get('states'));
      const [first, ...rest] = await Promise.all(all);
      for (const key of rest) assert.deepEqual(key, first);
    },
  );

  checkShared('a secret outlives the process that created it', async ({ secrets, close, again }) => {
    const key = await secrets.get('states');
    await close();
    assert.deepEqual(await (await again()).secrets.get('states'), key);
  });
}

// --- Sessions -----------------------------------------------------------------------------------------------

const session: SessionRecord = {
  id: 'a',
  owner: 'alice',
  opening: { protocolVersion: '2025-11-25', capabilities: { elicitation: {} } },
  seenAt: 1_000,
};

export function testSessions(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check('a session is read back as last saved, and its owner never changes', async ({ sessions }) => {
    await sessions.save(session);
    assert.deepEqual(await sessions.get('a'), session);
    assert.equal(await sessions.get('b'), undefined);
    const later = { ...session, opening: { ...session.opening, level: 'error' }, seenAt: 2_000 };
    await sessions.save({ ...later, owner: 'mallory' });
    assert.deepEqual(await sessions.get('a'), later);
    await sessions.delete('a');
    await sessions.delete('never was');
    assert.equal(await sessions.get('a'), undefined);
  });

  check('sessions that were not used for long are deleted', async ({ sessions }) => {
    await sessions.save(session);
    await sessions.save({ ...session, id: 'b', seenAt: 2_000 });
    await sessions.forget(2_000);
    assert.equal(await sessions.get('a'), undefined);
    assert.equal((await sessions.get('b'))?.id, 'b');
  });

  checkShared(
    'a session can be read by other processes after its process has ended',
    async ({ sessions, close, again }) => {
      await sessions.save(session);
      await close();
      assert.deepEqual(await (await again()).sessions.get('a'), session);
    },
  );
}

// --- Plain calls --------------------------------------------------------------------------------------------

/** No time limit for an unpublished task. */
const noEnd = Number.MAX_SAFE_INTEGER;
const join: Join = { key: 'a call', session: null, call: '1' };

export function testCalls(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check('the tasks of calls with one key are found, the oldest first', async ({ calls, tasks }) => {
    const first = await called(tasks);
    const second = await called(tasks);
    await called(tasks, { ...join, key: 'another call' });
    const undelivered = await calls.undelivered('a call');
    assert.deepEqual(undelivered, [
      { taskId: first, answering: 'a/1' },
      { taskId: second, answering: 'a/1' },
    ]);
  });

  check('a task is still found when it is done or being handed over', async ({ calls, tasks }) => {
    const done = await called(tasks);
    await finish(tasks, done);
    // Its caller does not have the id yet.
    const published = await called(tasks);
    await tasks.publish({ id: published });
    assert.deepEqual(await calls.undelivered('a call'), [
      { taskId: done, answering: 'a/1' },
      { taskId: published, answering: 'a/1' },
    ]);
  });

  check('a task that was handed over, delivered or cancelled is not found', async ({ calls, tasks }) => {
    const published = await called(tasks);
    await tasks.publish({ id: published });
    await tasks.act('task', { id: published }, rules.confirmHandOver);
    const delivered = await called(tasks);
    await finish(tasks, delivered);
    await tasks.act('family', { id: delivered }, rules.discard);
    const cancelled = await called(tasks);
    await tasks.end({ id: cancelled });
    assert.deepEqual(await calls.undelivered('a call'), []);
    assert.equal(await calls.take(published, 'a/1', 'b/1'), false);
    assert.equal(await calls.leave(published, 'a/1'), false);
  });

  check('a call can take a task only from the call that the task answers', async ({ calls, tasks }) => {
    const id = await called(tasks);
    assert.equal(await calls.take(id, 'b/1', 'c/1'), false);
    assert.equal(await calls.take(id, 'a/1', 'b/1'), true);
    assert.equal(await calls.take(id, 'a/1', 'c/1'), false);
    assert.deepEqual(await calls.undelivered('a call'), [{ taskId: id, answering: 'b/1' }]);
  });

  check('repeating a command whose answer was lost has no effect', async ({ calls, tasks }) => {
    const id = await called(tasks);
    for (let times = 0; times < 2; times++) assert.equal(await calls.leave(id, 'a/1'), true);
    for (let times = 0; times < 2; times++) assert.equal(await calls.take(id, null, 'b/1'), true);
    // Too late: the task answers another call.
    assert.equal(await calls.leave(id, 'a/1'), false);
    assert.deepEqual(await calls.undelivered('a call'), [{ taskId: id, answering: 'b/1' }]);
  });

  check('taking a task does not change it, whether it is live or done', async ({ store, calls, tasks }) => {
    const id = await called(tasks);
    await calls.take(id, 'a/1', 'b/1');
    await finish(tasks, id);
    const done = await store.get(id);
    assert.equal(done?.phase, 'done');
    assert.deepEqual(await calls.undelivered('a call'), [{ taskId: id, answering: 'b/1' }]);
    assert.equal(await calls.take(id, 'b/1', 'c/1'), true);
    assert.deepEqual(await store.get(id), done);
  });

  check('a task whose answer was delivered is kept, and not found', async ({ store, calls, tasks }) => {
    const id = await called(tasks);
    await finish(tasks, id);
    await calls.delivered(id);
    assert.deepEqual(await calls.undelivered('a call'), []);
    assert.equal(await calls.take(id, 'a/1', 'b/1'), false);
    assert.equal((await store.get(id))?.phase, 'done');
  });

  check('calls are found by their request, even if they cannot be joined', async ({ calls, tasks }) => {
    const [request, other] = ['r'.repeat(requestLength), 's'.repeat(requestLength)];
    const call = newCall(request);
    const joinable = await called(tasks, { ...join, call });
    const alone = await called(tasks, { call });
    await called(tasks, { ...join, call: newCall(other) });
    await called(tasks, { ...join, call: newCall(undefined) });
    await called(tasks, { ...join, call: request });
    const answering = `a/${call}`;
    assert.deepEqual(await calls.ofRequest(request), [
      { taskId: joinable, answering },
      { taskId: alone, answering },
    ]);
    assert.deepEqual(await calls.ofRequest('t'.repeat(requestLength)), []);
  });

  check('a task is found by the request of the call that it answers', async ({ calls, tasks }) => {
    const [request, other] = ['r'.repeat(requestLength), 's'.repeat(requestLength)];
    const [lost, joining] = [newCall(request), newCall(other)];
    const taskId = await called(tasks, { ...join, call: lost });
    await calls.leave(taskId, `a/${lost}`);
    assert.deepEqual(await calls.ofRequest(request), []);
    await calls.take(taskId, null, `b/${joining}`);
    assert.deepEqual(await calls.ofRequest(request), []);
    const answering = `b/${joining}`;
    assert.deepEqual(await calls.ofRequest(other), [{ taskId, answering }]);
    // A cancelled call is still found, so that a client that lost the answer can repeat the cancellation.
    await calls.take(taskId, answering, cancelledAnswering(answering));
    assert.equal(await calls.leave(taskId, answering), false);
    assert.deepEqual(await calls.ofRequest(other), [{ taskId, answering: `/${joining}` }]);
    await tasks.act('family', { id: taskId }, (family, at) => rules.cancelRequest(family, at));
    assert.deepEqual(await calls.undelivered('a call'), []);
  });

  checkShared('only one of several calls gets a task', async ({ calls, tasks, again }) => {
    const other = await again();
    const id = await called(tasks);
    await calls.leave(id, 'a/1');
    const taken = await Promise.all([
      calls.take(id, null, 'b/1'),
      other.calls.take(id, null, 'c/1'),
      calls.take(id, null, 'd/1'),
    ]);
    assert.equal(taken.filter((isTaken) => isTaken).length, 1);
  });
}

/**
 * Creates the unpublished task of a call. Other calls can join it if `how` is a `Join`, but not if it has only a
 * `call`.
 */
async function called(tasks: StoreCommands, how: Join | { readonly call: string } = join): Promise<TaskId> {
  const which = 'key' in how ? { join: how } : how;
  const { id } = await tasks.create({ unpublished: { servedBy: 'a', until: noEnd, ...which } });
  return id;
}

/** Claims and completes a task. */
async function finish(tasks: StoreCommands, id: TaskId): Promise<void> {
  await tasks.complete(await tasks.claimOne({ id }));
}

// --- The audit log ------------------------------------------------------------------------------------------

function entry(given: Partial<AuditEntry>): AuditEntry {
  return { at: 1_000, action: 'created', owner: 'alice', taskId: 'a', by: 'caller', ...given };
}

/** All matching entries, on one page. */
async function all(audit: Audit, query: AuditQuery = {}): Promise<AuditEntry[]> {
  return [...(await audit.read({ ...query, limit: 1_000 })).entries];
}

export function testAudit(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check('entries are read back as they were written, in their order', async ({ audit }) => {
    const whole = entry({
      tool: 'print',
      dialect: '2025-11-25',
      session: '0123456789abcdef',
      reason: 'Ink was low: "magenta".',
      times: 3,
      details: { keys: ['colour'], nested: { n: 1, none: null } },
    });
    const bare = entry({ at: 500, action: 'omitted', owner: null, taskId: null, by: 'engine' });
    await audit.append([whole]);
    await audit.append([]);
    await audit.append([bare]);
    assert.deepEqual(await all(audit), [whole, bare]);
  });

  check('entries are found by task, owner, action and time', async ({ audit }) => {
    const created = entry({ at: 1_000 });
    const ended = entry({ at: 2_000, action: 'ended', by: 'engine' });
    const others = entry({ at: 2_000, owner: 'bob', taskId: 'b' });
    const stranger = entry({ at: 3_000, action: 'denied', owner: 'bob' });
    await audit.append([created, ended, others, stranger]);
    assert.deepEqual(await all(audit, { taskId: 'a' }), [created, ended, stranger]);
    assert.deepEqual(await all(audit, { owner: 'bob' }), [others, stranger]);
    assert.deepEqual(await all(audit, { taskId: 'a', owner: 'bob' }), [stranger]);
    assert.deepEqual(await all(audit, { action: 'created' }), [created, others]);
    assert.deepEqual(await all(audit, { since: 2_000, until: 3_000 }), [ended, others]);
    assert.deepEqual(await all(audit, { taskId: 'nobody asked' }), []);
  });

  check('the cursor of a page continues where the page ends', async ({ audit }) => {
    const written = Array.from({ length: 7 }, (_, n) => entry({ at: n, taskId: `task ${n}` }));
    await audit.append(written);
    const read: AuditEntry[] = [];
    let pages = 0;
    for await (const { entries } of pagesOf((from) => audit.read({ owner: 'alice', limit: 3, ...from }))) {
      assert.ok(entries.length <= 3);
      read.push(...entries);
      pages++;
    }
    assert.deepEqual(read, written);
    assert.equal(pages, 3);
    await assert.rejects(audit.read({ limit: 3, cursor: 'made up' }));
  });

  check('a query finds rare entries after many pages', async ({ audit }) => {
    const noise = Array.from({ length: 12_000 }, (_, n) => entry({ at: n }));
    const needle = entry({ at: 20_000, action: 'denied' });
    await audit.append([...noise, needle]);
    const read: AuditEntry[] = [];
    for await (const { entries } of pagesOf((from) => audit.read({ action: 'denied', limit: 5, ...from })))
      read.push(...entries);
    assert.deepEqual(read, [needle]);
  });

  check('older entries are pruned, up to a limit', async ({ audit }) => {
    await audit.append([3_000, 1_000, 2_000, 4_000].map((at) => entry({ at })));
    const left = async () => (await all(audit)).map(({ at }) => at);
    assert.equal(await audit.prune(3_500, 2), 2);
    assert.deepEqual(await left(), [3_000, 4_000]);
    assert.equal(await audit.prune(3_500, 2), 1);
    assert.equal(await audit.prune(3_500, 2), 0);
    assert.deepEqual(await left(), [4_000]);
  });

  check('the audit entries of a change are written with it', async ({ store, audit }) => {
    const request = aTask();
    const created = entry({ taskId: request.id, owner: request.owner });
    const change = await store.create(undefined, (existing) => ({
      ...(rules.create(existing, request, 1_000) as Change),
      audit: [created],
    }));
    assert.equal(change.task.id, request.id);
    assert.deepEqual(await all(audit, { taskId: request.id }), [created]);
  });

  check('the audit entries of a change that fails are not written', async ({ store, audit }) => {
    const request = aTask();
    const created = () => ({
      ...(rules.create(undefined, request, 1_000) as Change),
      audit: [entry({ taskId: request.id })],
    });
    await store.create(undefined, created);
    // The same id again: the rule allows it, but the store cannot write it.
    await assert.rejects(store.create(undefined, created));
    await assert.rejects(
      store.update('task', request.id, (task) => refusal('TASK_IS_DONE', task.id)),
      { code: 'TASK_IS_DONE' },
    );
    assert.equal((await all(audit)).length, 1);
  });

  check('entries outlive their task', async ({ store, audit }) => {
    const request = aTask();
    await store.create(undefined, () => rules.create(undefined, request, 1_000));
    await store.update('family', request.id, (family) => rules.cancel(family, 2_000));
    const deleted = entry({ action: 'deleted', taskId: request.id });
    await store.update('family', request.id, (family) => ({
      ...(rules.remove(family, 3_000) as Change),
      audit: [deleted],
    }));
    assert.equal(await store.get(request.id), undefined);
    assert.deepEqual(await all(audit, { taskId: request.id }), [deleted]);
  });

  checkShared('processes read the entries of other processes', async ({ audit, again }) => {
    await audit.append([entry({})]);
    const other = await again();
    assert.deepEqual(await all(other.audit), [entry({})]);
    await other.audit.append([entry({ at: 2_000 })]);
    assert.equal((await all(audit)).length, 2);
  });
}
