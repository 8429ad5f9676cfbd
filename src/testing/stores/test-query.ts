/** The test suite for the `TaskQueries` of every database. */
import assert from 'node:assert/strict';
import * as rules from '../../engine/rules/transitions.ts';
import { newId } from '../../model/id.ts';
import type { TaskStatus } from '../../model/status.ts';
import { taskStatuses } from '../../model/status.ts';
import type { TaskId } from '../../model/task.ts';
import type { HistoryPage } from '../../ports/query.ts';
import { ids, success, versions } from './store-commands.ts';
import { checks, type SuiteOptions } from './suite.ts';
import { testOverview } from './test-query-overview.ts';
import { expectFound, testAsking } from './test-query-questions.ts';

export function testQueries(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);
  testAsking({ check, checkShared });
  testOverview({ check, checkShared });

  check(
    'roots are listed, including plain calls, the newest first',
    async ({ store, queries, clock, tasks }) => {
      await expectFound(queries, {}, []);
      const first = await tasks.withStatus('completed');
      const { claim } = await tasks.claimed();
      await tasks.startChild(claim);
      const unpublished = { servedBy: 'here', until: clock.now() + 60_000 };
      const request = await tasks.create({ unpublished });
      const last = await tasks.withStatus('queued');
      await expectFound(queries, {}, [last, request.id, claim.taskId, first]);
      await expectFound(queries, { statuses: ['queued'] }, [last, request.id]);
      assert.deepEqual((await queries.list({ limit: 1 })).tasks, [await store.get(last)]);
    },
  );

  check('the cursor of a page continues where the page ends', async ({ queries, tasks }) => {
    const made: TaskId[] = [];
    for (let n = 0; n < 7; n++) made.unshift(await tasks.withStatus(n % 2 ? 'failed' : 'queued'));
    await expectFound(queries, {}, made, 3);
    await expectFound(queries, {}, made, 7);
    await expectFound(queries, { statuses: ['queued', 'failed'] }, made, 2);
    await expectFound(
      queries,
      { statuses: ['failed'] },
      made.filter((_, n) => n % 2 === 1),
      2,
    );
    await assert.rejects(queries.list({ limit: 3, cursor: 'made up' }), /cursor/);
  });

  check('counting stops at the limit', async ({ queries, tasks }) => {
    for (let n = 0; n < 5; n++) await tasks.withStatus('queued');
    assert.deepEqual(await queries.count({}, 3), { count: 3, isMore: true });
    assert.deepEqual(await queries.count({}, 5), { count: 5, isMore: false });
    assert.deepEqual(await queries.count({ statuses: ['queued'] }, 3), { count: 3, isMore: true });
  });

  check('tasks are found by status', async ({ queries, tasks }) => {
    const made: { how: TaskStatus; id: TaskId }[] = [];
    for (const how of [...taskStatuses, ...taskStatuses])
      made.unshift({ how, id: await tasks.withStatus(how) });
    const combinations: TaskStatus[][] = [
      ...taskStatuses.map((how) => [how]),
      ['failed', 'lost', 'cancelled'],
      ['running', 'lost'],
      ['completed', 'waiting'],
      [],
    ];
    for (const some of combinations)
      await expectFound(queries, { statuses: some }, ids(made.filter(({ how }) => some.includes(how))));
  });

  check('every commit updates the status', async ({ queries, tasks }) => {
    const { task, claim } = await tasks.claimed();
    await expectFound(queries, { statuses: ['running'] }, [task.id]);
    await tasks.ask(claim);
    await expectFound(queries, { statuses: ['running'] }, []);
    await expectFound(queries, { statuses: ['waiting'] }, [task.id]);
    await tasks.end(task);
    await expectFound(queries, { statuses: ['waiting'] }, []);
    await expectFound(queries, { statuses: ['cancelled'] }, [task.id]);
  });

  check('tasks are found by owner and by tool', async ({ queries, tasks }) => {
    const names = { owner: 'bob \u0000\\ 𝄞', tool: "print's" };
    const a = await tasks.withStatus('completed', { tool: names.tool });
    const b = await tasks.withStatus('completed', { owner: names.owner });
    const c = await tasks.withStatus('failed', names);
    const d = await tasks.withStatus('running', names);
    await expectFound(queries, { owner: names.owner }, [d, c, b]);
    await expectFound(queries, { tool: names.tool }, [d, c, a]);
    await expectFound(queries, names, [d, c]);
    await expectFound(queries, { ...names, statuses: ['failed', 'completed'] }, [c]);
    await expectFound(queries, { owner: 'alice', statuses: ['failed', 'running'] }, []);
    await expectFound(queries, { owner: 'nobody' }, []);
    await expectFound(queries, { tool: 'nothing' }, []);
  });

  check('tasks are found by the time of their creation', async ({ queries, clock, tasks }) => {
    const made: { id: TaskId; at: number }[] = [];
    for (let n = 0; n < 8; n++) {
      made.unshift({ id: await tasks.withStatus(n % 2 ? 'completed' : 'failed'), at: clock.now() });
      clock.advance(50_000);
    }
    const since = made[5]!.at;
    const until = made[2]!.at;
    const between = ids(made.slice(3, 6));
    await expectFound(queries, { since, until }, between);
    await expectFound(queries, { since: since + 1, until: until + 1 }, ids(made.slice(2, 5)));
    await expectFound(queries, { since, until, statuses: ['failed'] }, [between[0]!, between[2]!]);
    await expectFound(queries, { since: clock.now() }, []);
    await expectFound(queries, { until: made[7]!.at }, []);
  });

  check(
    'tasks are found by a part of their id, tool, owner or status message',
    async ({ queries, tasks }) => {
      const { task: reported, claim } = await tasks.claimed({ tool: 'Print' });
      const message = 'Waiting for "MAGENTA" ink…';
      await tasks.act('task', reported, (task, at) => rules.report(task, claim, { message }, at));
      const owned = await tasks.withStatus('completed', { owner: 'carol@inks.example' });
      await tasks.withStatus('completed');
      await expectFound(queries, { text: '"magenta" INK' }, [reported.id]);
      await expectFound(queries, { text: 'inks.EXAMPLE' }, [owned]);
      await expectFound(queries, { text: 'print' }, [reported.id]);
      await expectFound(queries, { text: reported.id.slice(3, 25).toUpperCase() }, [reported.id]);
      await expectFound(queries, { text: 'ink', owner: 'alice' }, [reported.id]);
      await expectFound(queries, { text: 'nothing of the kind' }, []);
      // A complete id also finds a subtask.
      const child = await tasks.startChild(claim);
      await expectFound(queries, { text: child.id }, [child.id]);
      await expectFound(queries, { text: child.id, owner: 'bob' }, []);
      await expectFound(queries, { text: child.id, statuses: ['running'] }, []);
    },
  );

  check('a removed task is in no list', async ({ queries, tasks }) => {
    const kept = await tasks.withStatus('failed');
    const id = await tasks.withStatus('failed');
    await tasks.act('family', { id }, (family, at) => rules.remove(family, at));
    await expectFound(queries, { statuses: ['failed'] }, [kept]);
    await expectFound(queries, {}, [kept]);
  });

  check(
    'an overview of one owner does not include tasks of other owners',
    async ({ queries, clock, tasks }) => {
      const since = clock.now();
      for (const how of taskStatuses) await tasks.withStatus(how, { owner: 'bob' });
      const own = await tasks.withStatus('failed', { tool: 'print' });
      const overview = await queries.overview({ since, until: since + 1_000, buckets: 1, owner: 'alice' });
      assert.deepEqual(overview.live, { queued: 0, running: 0, waiting: 0 });
      assert.equal(overview.readySince, null);
      const { medianMs: _, p95Ms: __, ...ended } = overview.ended;
      assert.deepEqual(ended, { completed: 0, failed: 1, cancelled: 0, lost: 0 });
      assert.deepEqual(overview.tools, [{ tool: 'print', ...overview.live, ...overview.ended }]);
      for (const how of taskStatuses)
        await expectFound(queries, { owner: 'alice', statuses: [how] }, how === 'failed' ? [own] : []);
      const all = await queries.overview({ since, until: since + 1_000, buckets: 1 });
      assert.equal(all.ended.failed, 2);
    },
  );

  check('a history is read in pages, in the order of versions', async ({ store, queries, clock, tasks }) => {
    const { task, claim } = await tasks.claimed();
    for (let n = 0; n < 3; n++) {
      clock.advance(10);
      await tasks.record(claim, [{ n }]);
    }
    const history = (afterVersion: number, limit: number) =>
      queries.history(task.id, { afterVersion, limit });
    const whole = (await history(0, 100))!;
    assert.equal(whole.nextVersion, undefined);
    assert.deepEqual(versions(whole), [1, 2, 3, 4, 5]);
    assert.deepEqual(
      whole.commits.flatMap(({ journal }) => journal),
      await store.journal(task.id),
    );
    assert.deepEqual(whole.commits[0]!.events, [{ type: 'created' }]);
    assert.equal(whole.commits[4]!.at, clock.now());
    assert.deepEqual(await history(0, 2), { commits: whole.commits.slice(0, 2), nextVersion: 2 });
    assert.deepEqual(await history(2, 10), { commits: whole.commits.slice(2) });
    assert.deepEqual(await history(5, 10), { commits: [] });
    const child = await tasks.startChild(claim);
    const ofChild = await queries.history(child.id, { afterVersion: 0, limit: 10 });
    assert.deepEqual(ofChild!.commits[0]!.events, [{ type: 'created' }]);
    assert.equal(await queries.history(newId(), { afterVersion: 0, limit: 10 }), undefined);
  });

  check('a history with large commits has small pages', async ({ queries, tasks }) => {
    const { task, claim } = await tasks.claimed();
    for (const length of [700_000, 700_000, 700_000, 1_500_000])
      await tasks.record(claim, ['x'.repeat(length)]);
    const read: number[] = [];
    let pages = 0;
    for (let afterVersion: number | undefined = 0; afterVersion !== undefined; pages++) {
      const page: HistoryPage = (await queries.history(task.id, { afterVersion, limit: 100 }))!;
      read.push(...versions(page));
      afterVersion = page.nextVersion;
    }
    assert.deepEqual(read, [1, 2, 3, 4, 5, 6]);
    assert.equal(pages, 4);
  });

  check('rare matches are found wherever they are', async ({ queries, clock, tasks }) => {
    const rare: TaskId[] = [];
    const cancelled: TaskId[] = [];
    for (let n = 0; n < 200; n++) {
      const id = await tasks.withStatus(n % 10 ? 'queued' : 'cancelled', n % 70 ? {} : { tool: 'rare tool' });
      if (n % 70 === 0) rare.unshift(id);
      if (n % 10 === 0) cancelled.unshift(id);
      clock.advance(1_000);
    }
    for (const limit of [1, 2, 100]) {
      await expectFound(queries, { text: 'RARE TOOL' }, rare, limit);
      await expectFound(queries, { owner: 'alice', tool: 'rare tool' }, rare, limit);
    }
    await expectFound(queries, { tool: 'rare tool', statuses: ['completed', 'cancelled'] }, rare);
    await expectFound(queries, { statuses: ['completed', 'cancelled'] }, cancelled);
    const half = clock.now() - 100_000;
    await expectFound(queries, { statuses: ['cancelled'], until: half }, cancelled.slice(10));
    await expectFound(queries, { statuses: ['cancelled'], since: half }, cancelled.slice(0, 10));
  });

  check('a page of long tasks is complete, and large results are left out', async ({ queries, tasks }) => {
    const long: TaskId[] = [];
    const outcome = { ...success, value: { content: [{ type: 'text', text: 'x'.repeat(100_000) }] } };
    for (let n = 0; n < 10; n++) {
      const { task, claim } = await tasks.claimed();
      await tasks.complete(claim, outcome);
      long.unshift(task.id);
    }
    for (const limit of [4, 20]) await expectFound(queries, {}, long, limit);
    const [listed] = (await queries.list({ limit: 1 })).tasks;
    assert.deepEqual(listed && 'outcome' in listed && listed.outcome, { ...success, value: null });
  });

  checkShared('commits of other processes are visible', async ({ queries, again }) => {
    const other = await again();
    await expectFound(queries, {}, []);
    const id = await other.tasks.withStatus('failed');
    await expectFound(queries, { statuses: ['failed'] }, [id]);
    await expectFound(other.queries, {}, [id]);
  });
}
