/** The examination that the `Audit` of every database takes, and its `Store` as far as it writes entries. */
import assert from 'node:assert/strict';
import type { Audit, AuditEntry, AuditQuery } from '../engine/audit.ts';
import type { Change } from '../engine/change.ts';
import * as rules from '../engine/transitions.ts';
import { TaskIsDone } from '../model/errors.ts';
import { aTask } from './fixtures.ts';
import { checks, type SuiteOptions } from './suite.ts';

function entry(given: Partial<AuditEntry>): AuditEntry {
  return { at: 1_000, action: 'created', owner: 'alice', taskId: 'a', by: 'caller', ...given };
}

async function all(audit: Audit, query: AuditQuery = {}): Promise<AuditEntry[]> {
  return [...(await audit.read({ ...query, limit: 1_000 })).entries];
}

export function testAudit(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check('entries are read back as they were written, in their order', async ({ database: { audit } }) => {
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

  check('they are found by task, owner, action and time', async ({ database: { audit } }) => {
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

  check('a page ends where its cursor goes on', async ({ database: { audit } }) => {
    const written = Array.from({ length: 7 }, (_, n) => entry({ at: n, taskId: `task ${n}` }));
    await audit.append(written);
    const read: AuditEntry[] = [];
    let pages = 0;
    for (let cursor: string | undefined; ; pages++) {
      const page = await audit.read({ owner: 'alice', limit: 3, ...(cursor !== undefined && { cursor }) });
      assert.ok(page.entries.length <= 3);
      read.push(...page.entries);
      if (page.nextCursor === undefined) break;
      cursor = page.nextCursor;
    }
    assert.deepEqual(read, written);
    assert.equal(pages, 2);
    await assert.rejects(audit.read({ limit: 3, cursor: 'made up' }));
  });

  check('however far apart, what a query looks for is found in the end', async ({ database: { audit } }) => {
    const noise = Array.from({ length: 12_000 }, (_, n) => entry({ at: n }));
    const needle = entry({ at: 20_000, action: 'denied' });
    await audit.append([...noise, needle]);
    const read: AuditEntry[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await audit.read({ action: 'denied', limit: 5, ...(cursor !== undefined && { cursor }) });
      read.push(...page.entries);
      if (page.nextCursor === undefined) break;
      cursor = page.nextCursor;
    }
    assert.deepEqual(read, [needle]);
  });

  check('what is pruned is what is older, a few at a time', async ({ database: { audit } }) => {
    await audit.append([3_000, 1_000, 2_000, 4_000].map((at) => entry({ at })));
    const left = async () => (await all(audit)).map(({ at }) => at);
    assert.equal(await audit.prune(3_500, 2), 2);
    assert.deepEqual(await left(), [3_000, 4_000]);
    assert.equal(await audit.prune(3_500, 2), 1);
    assert.equal(await audit.prune(3_500, 2), 0);
    assert.deepEqual(await left(), [4_000]);
  });

  check('what a change says of itself is written with it', async ({ database: { store, audit } }) => {
    const request = aTask();
    const created = entry({ taskId: request.id, owner: request.owner });
    const change = await store.create(undefined, (existing) => ({
      ...(rules.create(existing, request, 1_000) as Change),
      audit: [created],
    }));
    assert.equal(change.task.id, request.id);
    assert.deepEqual(await all(audit, { taskId: request.id }), [created]);
  });

  check('of a change that did not come about nothing is written', async ({ database }) => {
    const { store, audit } = database;
    const request = aTask();
    const created = () => ({
      ...(rules.create(undefined, request, 1_000) as Change),
      audit: [entry({ taskId: request.id })],
    });
    await store.create(undefined, created);
    // The same id once more: the rule allows it, and the store cannot write it.
    await assert.rejects(store.create(undefined, created));
    await assert.rejects(
      store.update('task', request.id, (task) => new TaskIsDone(task.id)),
      TaskIsDone,
    );
    assert.equal((await all(audit)).length, 1);
  });

  check('entries outlive their task', async ({ database: { store, audit } }) => {
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

  checkShared('every process reads what every other wrote', async ({ database, again }) => {
    await database.audit.append([entry({})]);
    const other = await again();
    assert.deepEqual(await all(other.audit), [entry({})]);
    await other.audit.append([entry({ at: 2_000 })]);
    assert.equal((await all(database.audit)).length, 2);
  });
}
