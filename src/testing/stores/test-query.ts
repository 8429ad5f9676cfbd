/** The examination that the `TaskQueries` of every database takes. */
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
    'roots are listed, plain calls among them, the newest first',
    async ({ store, queries: survey, clock, tasks }) => {
      await expectFound(survey, {}, []);
      const first = await tasks.standing('completed');
      const { claim } = await tasks.claimed();
      await tasks.startChild(claim);
      const unpublished = { servedBy: 'here', until: clock.now() + 60_000 };
      const request = await tasks.create({ unpublished });
      const last = await tasks.standing('queued');
      await expectFound(survey, {}, [last, request.id, claim.taskId, first]);
      await expectFound(survey, { statuses: ['queued'] }, [last, request.id]);
      assert.deepEqual((await survey.list({ limit: 1 })).tasks, [await store.get(last)]);
    },
  );

  check('a page ends where its cursor goes on', async ({ queries: survey, tasks }) => {
    const made: TaskId[] = [];
    for (let n = 0; n < 7; n++) made.unshift(await tasks.standing(n % 2 ? 'failed' : 'queued'));
    await expectFound(survey, {}, made, 3);
    await expectFound(survey, {}, made, 7);
    await expectFound(survey, { statuses: ['queued', 'failed'] }, made, 2);
    await expectFound(
      survey,
      { statuses: ['failed'] },
      made.filter((_, n) => n % 2 === 1),
      2,
    );
    await assert.rejects(survey.list({ limit: 3, cursor: 'made up' }), /cursor/);
  });

  check('counting ends where it is told to', async ({ queries: survey, tasks }) => {
    for (let n = 0; n < 5; n++) await tasks.standing('queued');
    assert.deepEqual(await survey.count({}, 3), { count: 3, isMore: true });
    assert.deepEqual(await survey.count({}, 5), { count: 5, isMore: false });
    assert.deepEqual(await survey.count({ statuses: ['queued'] }, 3), { count: 3, isMore: true });
  });

  check('tasks are found by how they stand', async ({ queries: survey, tasks }) => {
    const made: { how: TaskStatus; id: TaskId }[] = [];
    for (const how of [...taskStatuses, ...taskStatuses])
      made.unshift({ how, id: await tasks.standing(how) });
    const queries: TaskStatus[][] = [
      ...taskStatuses.map((how) => [how]),
      ['failed', 'lost', 'cancelled'],
      ['running', 'lost'],
      ['completed', 'waiting'],
      [],
    ];
    for (const some of queries)
      await expectFound(survey, { statuses: some }, ids(made.filter(({ how }) => some.includes(how))));
  });

  check('and move with every commit', async ({ queries: survey, tasks }) => {
    const { task, claim } = await tasks.claimed();
    await expectFound(survey, { statuses: ['running'] }, [task.id]);
    await tasks.ask(claim);
    await expectFound(survey, { statuses: ['running'] }, []);
    await expectFound(survey, { statuses: ['waiting'] }, [task.id]);
    await tasks.end(task);
    await expectFound(survey, { statuses: ['waiting'] }, []);
    await expectFound(survey, { statuses: ['cancelled'] }, [task.id]);
  });

  check('they are found by owner and by tool', async ({ queries: survey, tasks }) => {
    const names = { owner: 'bob \u0000\\ 𝄞', tool: "print's" };
    const a = await tasks.standing('completed', { tool: names.tool });
    const b = await tasks.standing('completed', { owner: names.owner });
    const c = await tasks.standing('failed', names);
    const d = await tasks.standing('running', names);
    await expectFound(survey, { owner: names.owner }, [d, c, b]);
    await expectFound(survey, { tool: names.tool }, [d, c, a]);
    await expectFound(survey, names, [d, c]);
    await expectFound(survey, { ...names, statuses: ['failed', 'completed'] }, [c]);
    await expectFound(survey, { owner: 'alice', statuses: ['failed', 'running'] }, []);
    await expectFound(survey, { owner: 'nobody' }, []);
    await expectFound(survey, { tool: 'nothing' }, []);
  });

  check('they are found by when they were made', async ({ queries: survey, clock, tasks }) => {
    const made: { id: TaskId; at: number }[] = [];
    for (let n = 0; n < 8; n++) {
      made.unshift({ id: await tasks.standing(n % 2 ? 'completed' : 'failed'), at: clock.now() });
      clock.advance(50_000);
    }
    const since = made[5]!.at;
    const until = made[2]!.at;
    const between = ids(made.slice(3, 6));
    await expectFound(survey, { since, until }, between);
    await expectFound(survey, { since: since + 1, until: until + 1 }, ids(made.slice(2, 5)));
    await expectFound(survey, { since, until, statuses: ['failed'] }, [between[0]!, between[2]!]);
    await expectFound(survey, { since: clock.now() }, []);
    await expectFound(survey, { until: made[7]!.at }, []);
  });

  check('they are found by a part of what is said of them', async ({ queries: survey, tasks }) => {
    const { task: told, claim } = await tasks.claimed({ tool: 'Print' });
    const message = 'Waiting for "MAGENTA" ink…';
    await tasks.act('task', told, (task, at) => rules.report(task, claim, { message }, at));
    const owned = await tasks.standing('completed', { owner: 'carol@inks.example' });
    await tasks.standing('completed');
    await expectFound(survey, { text: '"magenta" INK' }, [told.id]);
    await expectFound(survey, { text: 'inks.EXAMPLE' }, [owned]);
    await expectFound(survey, { text: 'print' }, [told.id]);
    await expectFound(survey, { text: told.id.slice(3, 25).toUpperCase() }, [told.id]);
    await expectFound(survey, { text: 'ink', owner: 'alice' }, [told.id]);
    await expectFound(survey, { text: 'nothing of the kind' }, []);
    // A whole id finds a subtask too.
    const child = await tasks.startChild(claim);
    await expectFound(survey, { text: child.id }, [child.id]);
    await expectFound(survey, { text: child.id, owner: 'bob' }, []);
    await expectFound(survey, { text: child.id, statuses: ['running'] }, []);
  });

  check('what is removed is gone from every list', async ({ queries: survey, tasks }) => {
    const kept = await tasks.standing('failed');
    const id = await tasks.standing('failed');
    await tasks.act('family', { id }, (family, at) => rules.remove(family, at));
    await expectFound(survey, { statuses: ['failed'] }, [kept]);
    await expectFound(survey, {}, [kept]);
  });

  check('nobody is told of the tasks of others', async ({ queries: survey, clock, tasks }) => {
    const since = clock.now();
    for (const how of taskStatuses) await tasks.standing(how, { owner: 'bob' });
    const own = await tasks.standing('failed', { tool: 'print' });
    const told = await survey.overview({ since, until: since + 1_000, buckets: 1, owner: 'alice' });
    assert.deepEqual(told.live, { queued: 0, running: 0, waiting: 0 });
    assert.equal(told.readySince, null);
    const { medianMs: _, p95Ms: __, ...ended } = told.ended;
    assert.deepEqual(ended, { completed: 0, failed: 1, cancelled: 0, lost: 0 });
    assert.deepEqual(told.tools, [{ tool: 'print', ...told.live, ...told.ended }]);
    for (const how of taskStatuses)
      await expectFound(survey, { owner: 'alice', statuses: [how] }, how === 'failed' ? [own] : []);
    const all = await survey.overview({ since, until: since + 1_000, buckets: 1 });
    assert.equal(all.ended.failed, 2);
  });

  check(
    'a history is read in pages, in the order of versions',
    async ({ store, queries: survey, clock, tasks }) => {
      const { task, claim } = await tasks.claimed();
      for (let n = 0; n < 3; n++) {
        clock.advance(10);
        await tasks.record(claim, [{ n }]);
      }
      const history = (afterVersion: number, limit: number) =>
        survey.history(task.id, { afterVersion, limit });
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
      const ofChild = await survey.history(child.id, { afterVersion: 0, limit: 10 });
      assert.deepEqual(ofChild!.commits[0]!.events, [{ type: 'created' }]);
      assert.equal(await survey.history(newId(), { afterVersion: 0, limit: 10 }), undefined);
    },
  );

  check('a history of large commits comes in small pages', async ({ queries: survey, tasks }) => {
    const { task, claim } = await tasks.claimed();
    for (const length of [700_000, 700_000, 700_000, 1_500_000])
      await tasks.record(claim, ['x'.repeat(length)]);
    const read: number[] = [];
    let pages = 0;
    for (let afterVersion: number | undefined = 0; afterVersion !== undefined; pages++) {
      const page: HistoryPage = (await survey.history(task.id, { afterVersion, limit: 100 }))!;
      read.push(...versions(page));
      afterVersion = page.nextVersion;
    }
    assert.deepEqual(read, [1, 2, 3, 4, 5, 6]);
    assert.equal(pages, 4);
  });

  check('what fits rarely is found wherever it is', async ({ queries: survey, clock, tasks }) => {
    const rare: TaskId[] = [];
    const cancelled: TaskId[] = [];
    for (let n = 0; n < 200; n++) {
      const id = await tasks.standing(n % 10 ? 'queued' : 'cancelled', n % 70 ? {} : { tool: 'rare tool' });
      if (n % 70 === 0) rare.unshift(id);
      if (n % 10 === 0) cancelled.unshift(id);
      clock.advance(1_000);
    }
    for (const limit of [1, 2, 100]) {
      await expectFound(survey, { text: 'RARE TOOL' }, rare, limit);
      await expectFound(survey, { owner: 'alice', tool: 'rare tool' }, rare, limit);
    }
    await expectFound(survey, { tool: 'rare tool', statuses: ['completed', 'cancelled'] }, rare);
    await expectFound(survey, { statuses: ['completed', 'cancelled'] }, cancelled);
    const half = clock.now() - 100_000;
    await expectFound(survey, { statuses: ['cancelled'], until: half }, cancelled.slice(10));
    await expectFound(survey, { statuses: ['cancelled'], since: half }, cancelled.slice(0, 10));
  });

  check(
    'a page of long tasks is complete, and large results are left out',
    async ({ queries: survey, tasks }) => {
      const long: TaskId[] = [];
      const outcome = { ...success, value: { content: [{ type: 'text', text: 'x'.repeat(100_000) }] } };
      for (let n = 0; n < 10; n++) {
        const { task, claim } = await tasks.claimed();
        await tasks.complete(claim, outcome);
        long.unshift(task.id);
      }
      for (const limit of [4, 20]) await expectFound(survey, {}, long, limit);
      const [listed] = (await survey.list({ limit: 1 })).tasks;
      assert.deepEqual(listed && 'outcome' in listed && listed.outcome, { ...success, value: null });
    },
  );

  checkShared('what another process commits is seen', async ({ queries: survey, again }) => {
    const other = await again();
    await expectFound(survey, {}, []);
    const id = await other.tasks.standing('failed');
    await expectFound(survey, { statuses: ['failed'] }, [id]);
    await expectFound(other.queries, {}, [id]);
  });
}
