/** The examination that the `Survey` of every database takes. */
import assert from 'node:assert/strict';
import type { Survey, SurveyFilter } from '../engine/survey.ts';
import * as rules from '../engine/transitions.ts';
import { newId } from '../model/id.ts';
import type { Standing } from '../model/standing.ts';
import { standings } from '../model/standing.ts';
import type { TaskId } from '../model/task.ts';
import { aTask } from './fixtures.ts';
import { standing, success } from './standing.ts';
import { claimed, create, end, ids, startChild } from './store-commands.ts';
import { checks, type SuiteOptions } from './suite.ts';
import { testAsking } from './test-survey-asking.ts';
import { testOverview } from './test-survey-overview.ts';

/** Everything that fits, page by page. */
async function found(survey: Survey, filter: SurveyFilter = {}, limit = 100): Promise<TaskId[]> {
  const tasks: { readonly id: TaskId }[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await survey.list({ ...filter, limit, ...(cursor !== undefined && { cursor }) });
    assert.ok(page.tasks.length <= limit);
    tasks.push(...page.tasks);
    if (page.nextCursor === undefined) return ids(tasks);
    cursor = page.nextCursor;
  }
}

/** Counts are told together with lists: where one is wrong the other is too. */
async function expectFound(survey: Survey, filter: SurveyFilter, wanted: readonly TaskId[]): Promise<void> {
  assert.deepEqual(await found(survey, filter), wanted);
  assert.deepEqual(await survey.count(filter, 1_000), { count: wanted.length, isMore: false });
}

export function testSurvey(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);
  testAsking({ check, checkShared }, expectFound);
  testOverview({ check, checkShared });

  check(
    'roots are listed, plain calls among them, the newest first',
    async ({ database: { store, survey }, clock }) => {
      await expectFound(survey, {}, []);
      const first = await standing(store, clock, 'completed');
      const { claim } = await claimed(store, clock);
      await startChild(store, clock, claim);
      const unpublished = { servedBy: 'here', until: clock.now() + 60_000 };
      const request = aTask({ unpublished });
      await create(store, clock, request);
      const last = await standing(store, clock, 'queued');
      await expectFound(survey, {}, [last, request.id, claim.taskId, first]);
      await expectFound(survey, { standings: ['queued'] }, [last, request.id]);
    },
  );

  check('a listed task is the task itself', async ({ database: { store, survey }, clock }) => {
    const { task } = await claimed(store, clock);
    assert.deepEqual((await survey.list({ limit: 1 })).tasks, [task]);
  });

  check('a page ends where its cursor goes on', async ({ database: { store, survey }, clock }) => {
    const made: TaskId[] = [];
    for (let n = 0; n < 7; n++) made.unshift(await standing(store, clock, n % 2 ? 'failed' : 'queued'));
    assert.deepEqual(await found(survey, {}, 3), made);
    assert.deepEqual(await found(survey, {}, 7), made);
    assert.deepEqual(await found(survey, { standings: ['queued', 'failed'] }, 2), made);
    assert.deepEqual(
      await found(survey, { standings: ['failed'] }, 2),
      made.filter((_, n) => n % 2 === 1),
    );
    await assert.rejects(survey.list({ limit: 3, cursor: 'made up' }), /cursor/);
  });

  check('counting ends where it is told to', async ({ database: { store, survey }, clock }) => {
    for (let n = 0; n < 5; n++) await standing(store, clock, 'queued');
    assert.deepEqual(await survey.count({}, 3), { count: 3, isMore: true });
    assert.deepEqual(await survey.count({}, 5), { count: 5, isMore: false });
    assert.deepEqual(await survey.count({ standings: ['queued'] }, 3), { count: 3, isMore: true });
  });

  check('tasks are found by how they stand', async ({ database: { store, survey }, clock }) => {
    const byStanding = new Map<Standing, TaskId[]>();
    for (const how of [...standings, ...standings])
      byStanding.set(how, [await standing(store, clock, how), ...(byStanding.get(how) ?? [])]);
    for (const how of standings) await expectFound(survey, { standings: [how] }, byStanding.get(how)!);
    const newest = await found(survey);
    for (const some of [
      ['failed', 'lost', 'cancelled'],
      ['running', 'lost'],
      ['completed', 'waiting'],
    ] as const) {
      const wanted = newest.filter((id) => some.some((how) => byStanding.get(how)!.includes(id)));
      await expectFound(survey, { standings: some }, wanted);
    }
    await expectFound(survey, { standings: [] }, []);
  });

  check('and move with every commit', async ({ database: { store, survey }, clock }) => {
    const { task, claim } = await claimed(store, clock);
    await expectFound(survey, { standings: ['running'] }, [task.id]);
    const question = { key: 'colour', request: { kind: 'roots' } } as const;
    await store.update('task', task.id, (now) => rules.ask(now, claim, question, clock.now()));
    await expectFound(survey, { standings: ['running'] }, []);
    await expectFound(survey, { standings: ['waiting'] }, [task.id]);
    await end(store, clock, task);
    await expectFound(survey, { standings: ['waiting'] }, []);
    await expectFound(survey, { standings: ['cancelled'] }, [task.id]);
  });

  check('they are found by owner and by tool', async ({ database: { store, survey }, clock }) => {
    const names = { owner: 'bob \u0000\\ 𝄞', tool: "print's" };
    const a = await standing(store, clock, 'completed', { tool: names.tool });
    const b = await standing(store, clock, 'completed', { owner: names.owner });
    const c = await standing(store, clock, 'failed', names);
    const d = await standing(store, clock, 'running', names);
    await expectFound(survey, { owner: names.owner }, [d, c, b]);
    await expectFound(survey, { tool: names.tool }, [d, c, a]);
    await expectFound(survey, names, [d, c]);
    await expectFound(survey, { ...names, standings: ['failed', 'completed'] }, [c]);
    await expectFound(survey, { owner: 'alice', standings: ['failed', 'running'] }, []);
    await expectFound(survey, { owner: 'nobody' }, []);
    await expectFound(survey, { tool: 'nothing' }, []);
  });

  check('they are found by when they were made', async ({ database: { store, survey }, clock }) => {
    const made: { id: TaskId; at: number }[] = [];
    for (let n = 0; n < 8; n++) {
      made.unshift({ id: await standing(store, clock, n % 2 ? 'completed' : 'failed'), at: clock.now() });
      clock.advance(50_000);
    }
    const since = made[5]!.at;
    const until = made[2]!.at;
    const between = made.slice(3, 6).map(({ id }) => id);
    await expectFound(survey, { since, until }, between);
    await expectFound(
      survey,
      { since: since + 1, until: until + 1 },
      made.slice(2, 5).map(({ id }) => id),
    );
    await expectFound(survey, { since, until, standings: ['failed'] }, [between[0]!, between[2]!]);
    await expectFound(survey, { since: clock.now() }, []);
    await expectFound(survey, { until: made[7]!.at }, []);
  });

  check('they are found by a part of what is said of them', async ({ database, clock }) => {
    const { store, survey } = database;
    const { task: told, claim } = await claimed(store, clock, aTask({ tool: 'Print' }));
    const message = 'Waiting for "MAGENTA" ink…';
    await store.update('task', told.id, (task) => rules.report(task, claim, { message }, clock.now()));
    const owned = await standing(store, clock, 'completed', { owner: 'carol@inks.example' });
    await standing(store, clock, 'completed');
    await expectFound(survey, { text: '"magenta" INK' }, [told.id]);
    await expectFound(survey, { text: 'inks.EXAMPLE' }, [owned]);
    await expectFound(survey, { text: 'print' }, [told.id]);
    await expectFound(survey, { text: told.id.slice(3, 25).toUpperCase() }, [told.id]);
    await expectFound(survey, { text: 'ink', owner: 'alice' }, [told.id]);
    await expectFound(survey, { text: 'nothing of the kind' }, []);
  });

  check('a whole id finds a subtask too', async ({ database: { store, survey }, clock }) => {
    const { claim } = await claimed(store, clock);
    const child = await startChild(store, clock, claim);
    await expectFound(survey, { text: child.id }, [child.id]);
    await expectFound(survey, { text: child.id, owner: 'bob' }, []);
    await expectFound(survey, { text: child.id, standings: ['running'] }, []);
  });

  check('what is removed is gone from every list', async ({ database: { store, survey }, clock }) => {
    const kept = await standing(store, clock, 'failed');
    const id = await standing(store, clock, 'failed');
    await store.update('family', id, (family) => rules.remove(family, clock.now()));
    await expectFound(survey, { standings: ['failed'] }, [kept]);
    await expectFound(survey, {}, [kept]);
  });

  check('nobody is told of the tasks of others', async ({ database: { store, survey }, clock }) => {
    const since = clock.now();
    for (const how of standings) await standing(store, clock, how, { owner: 'bob' });
    const own = await standing(store, clock, 'failed', { tool: 'print' });
    const told = await survey.overview({ since, until: since + 1_000, buckets: 1, owner: 'alice' });
    assert.deepEqual(told.live, { queued: 0, running: 0, waiting: 0 });
    assert.equal(told.readySince, null);
    assert.deepEqual(
      [told.ended.completed, told.ended.failed, told.ended.cancelled, told.ended.lost],
      [0, 1, 0, 0],
    );
    assert.deepEqual(
      told.tools.map(({ tool, failed }) => ({ tool, failed })),
      [{ tool: 'print', failed: 1 }],
    );
    for (const how of standings)
      await expectFound(survey, { owner: 'alice', standings: [how] }, how === 'failed' ? [own] : []);
    const all = await survey.overview({ since, until: since + 1_000, buckets: 1 });
    assert.equal(all.ended.failed, 2);
  });

  check('a history is read in pages, in the order of versions', async ({ database, clock }) => {
    const { store, survey } = database;
    const { task, claim } = await claimed(store, clock);
    for (let n = 0; n < 3; n++) {
      clock.advance(10);
      await store.update('task', task.id, (now) => rules.record(now, claim, [{ n }], clock.now()));
    }
    const whole = (await survey.history(task.id, { afterVersion: 0, limit: 100 }))!;
    assert.equal(whole.nextVersion, undefined);
    assert.deepEqual(
      whole.commits.map(({ version }) => version),
      [1, 2, 3, 4, 5],
    );
    assert.deepEqual(
      whole.commits.flatMap(({ journal }) => journal),
      await store.journal(task.id),
    );
    assert.deepEqual(whole.commits[0]!.events, [{ type: 'created' }]);
    assert.equal(whole.commits[4]!.at, clock.now());
    const first = (await survey.history(task.id, { afterVersion: 0, limit: 2 }))!;
    assert.deepEqual(first, { commits: whole.commits.slice(0, 2), nextVersion: 2 });
    const rest = (await survey.history(task.id, { afterVersion: 2, limit: 10 }))!;
    assert.deepEqual(rest, { commits: whole.commits.slice(2) });
    const none = await survey.history(task.id, { afterVersion: 5, limit: 10 });
    assert.deepEqual(none, { commits: [] });
  });

  check('a history of large commits comes in small pages', async ({ database, clock }) => {
    const { store, survey } = database;
    const { task, claim } = await claimed(store, clock);
    for (const length of [700_000, 700_000, 700_000, 1_500_000]) {
      const large = 'x'.repeat(length);
      await store.update('task', task.id, (now) => rules.record(now, claim, [large], clock.now()));
    }
    const versions: number[] = [];
    let pages = 0;
    for (let afterVersion: number | undefined = 0; afterVersion !== undefined; pages++) {
      const page: Awaited<ReturnType<Survey['history']>> = await survey.history(task.id, {
        afterVersion,
        limit: 100,
      });
      versions.push(...page!.commits.map(({ version }) => version));
      afterVersion = page!.nextVersion;
    }
    assert.deepEqual(versions, [1, 2, 3, 4, 5, 6]);
    assert.equal(pages, 4);
  });

  check('a subtask has a history; what is not there has none', async ({ database, clock }) => {
    const { store, survey } = database;
    const { claim } = await claimed(store, clock);
    const child = await startChild(store, clock, claim);
    const history = await survey.history(child.id, { afterVersion: 0, limit: 10 });
    assert.deepEqual(history!.commits[0]!.events, [{ type: 'created' }]);
    assert.equal(await survey.history(newId(), { afterVersion: 0, limit: 10 }), undefined);
  });

  check('what fits rarely is found wherever it is', async ({ database: { store, survey }, clock }) => {
    const rare: TaskId[] = [];
    const cancelled: TaskId[] = [];
    for (let n = 0; n < 200; n++) {
      const id = await standing(
        store,
        clock,
        n % 10 ? 'queued' : 'cancelled',
        n % 70 ? {} : { tool: 'rare tool' },
      );
      if (n % 70 === 0) rare.unshift(id);
      if (n % 10 === 0) cancelled.unshift(id);
      clock.advance(1_000);
    }
    for (const limit of [1, 2, 100]) {
      assert.deepEqual(await found(survey, { text: 'RARE TOOL' }, limit), rare);
      assert.deepEqual(await found(survey, { owner: 'alice', tool: 'rare tool' }, limit), rare);
    }
    await expectFound(survey, { tool: 'rare tool', standings: ['completed', 'cancelled'] }, rare);
    await expectFound(survey, { standings: ['completed', 'cancelled'] }, cancelled);
    await expectFound(
      survey,
      { standings: ['cancelled'], until: clock.now() - 100_000 },
      cancelled.slice(10),
    );
    await expectFound(
      survey,
      { standings: ['cancelled'], since: clock.now() - 100_000 },
      cancelled.slice(0, 10),
    );
  });

  check('a page of long tasks is complete', async ({ database: { store, survey }, clock }) => {
    const long: TaskId[] = [];
    const outcome = { ...success, value: { content: [{ type: 'text', text: 'x'.repeat(100_000) }] } };
    for (let n = 0; n < 10; n++) {
      const { task, claim } = await claimed(store, clock);
      await store.update('lineage', task.id, (one) => rules.complete(one, claim, outcome, clock.now()));
      long.unshift(task.id);
    }
    for (const limit of [4, 20]) assert.deepEqual(await found(survey, {}, limit), long);
  });

  check('large results are left out of lists', async ({ database: { store, survey }, clock }) => {
    const { task, claim } = await claimed(store, clock);
    const outcome = { ...success, value: { content: [{ type: 'text', text: 'x'.repeat(100_000) }] } };
    await store.update('lineage', task.id, (around) => rules.complete(around, claim, outcome, clock.now()));
    const [listed] = (await survey.list({ limit: 1 })).tasks;
    assert.deepEqual(listed && 'outcome' in listed && listed.outcome, { ...success, value: null });
  });

  checkShared('what another process commits is seen', async ({ database, clock, again }) => {
    const other = await again();
    await expectFound(database.survey, {}, []);
    const id = await standing(other.store, clock, 'failed');
    await expectFound(database.survey, { standings: ['failed'] }, [id]);
    await expectFound(other.survey, {}, [id]);
  });
}
