/** The checks of questions that subtasks ask: whoever looks for what waits for a person must find them. */
import assert from 'node:assert/strict';
import type { Store } from '../engine/store.ts';
import type { Survey, SurveyFilter } from '../engine/survey.ts';
import * as rules from '../engine/transitions.ts';
import type { NewTask, Task, TaskId } from '../model/task.ts';
import { aTask } from './fixtures.ts';
import type { ManualClock } from './manual-clock.ts';
import { claimed, claimOne, create, end, ids, startChild } from './store-commands.ts';
import type { checks } from './suite.ts';

export type ExpectFound = (survey: Survey, filter: SurveyFilter, wanted: readonly TaskId[]) => Promise<void>;

async function ask(store: Store, clock: ManualClock, id: TaskId): Promise<void> {
  const claim = await claimOne(store, clock, id);
  const question = { key: 'colour', request: { kind: 'roots' } } as const;
  await store.update('task', id, (task) => rules.ask(task, claim, question, clock.now()));
}

/** A running root, and below it a subtask that asks. */
async function asking(
  store: Store,
  clock: ManualClock,
  given: Partial<NewTask> = {},
): Promise<{ root: TaskId; child: Task }> {
  const { task, claim } = await claimed(store, clock, aTask(given));
  const child = await startChild(store, clock, claim);
  await ask(store, clock, child.id);
  return { root: task.id, child };
}

export function testAsking({ check }: ReturnType<typeof checks>, expectFound: ExpectFound): void {
  const waiting = { standings: ['waiting'] } as const;

  check('a subtask that asks is found among what waits, at any depth', async ({ database, clock }) => {
    const { store, survey } = database;
    const { root, child } = await asking(store, clock);
    await expectFound(survey, waiting, [child.id]);
    const [listed] = (await survey.list({ ...waiting, limit: 1 })).tasks;
    assert.deepEqual(listed, await store.get(child.id));
    assert.equal(listed?.parentId, root);
    const { claim } = await claimed(store, clock);
    const middle = await startChild(store, clock, claim);
    const grandchild = await startChild(store, clock, await claimOne(store, clock, middle.id));
    await expectFound(survey, waiting, [child.id]);
    await ask(store, clock, grandchild.id);
    await expectFound(survey, waiting, [grandchild.id, child.id]);
  });

  check('other lists are of roots, whatever is asked below', async ({ database, clock }) => {
    const { store, survey } = database;
    const first = await asking(store, clock);
    const second = await asking(store, clock);
    const roots = [second.root, first.root];
    await expectFound(survey, {}, roots);
    await expectFound(survey, { standings: ['running'] }, roots);
    await expectFound(survey, { tool: first.child.tool }, []);
    await expectFound(survey, { since: 0, until: clock.now() + 1 }, roots);
  });

  check('roots and subtasks that wait are one list, and its pages are whole', async ({ database, clock }) => {
    const { store, survey } = database;
    const wanted: TaskId[] = [];
    const all: TaskId[] = [];
    for (let n = 0; n < 5; n++) {
      const { root, child } = await asking(store, clock);
      await create(store, clock, aTask());
      const own = aTask();
      await create(store, clock, own);
      await ask(store, clock, own.id);
      wanted.unshift(own.id, child.id);
      all.unshift(own.id, child.id, root);
    }
    for (const limit of [1, 2, 3, 10]) {
      const tasks: { readonly id: TaskId }[] = [];
      let cursor: string | undefined;
      do {
        const page = await survey.list({ ...waiting, limit, ...(cursor !== undefined && { cursor }) });
        tasks.push(...page.tasks);
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      assert.deepEqual(ids(tasks), wanted);
    }
    await expectFound(survey, { standings: ['waiting', 'failed'] }, wanted);
    await expectFound(survey, { standings: ['waiting', 'completed'] }, wanted);
    await expectFound(survey, { standings: ['running', 'waiting'] }, all);
    assert.deepEqual(await survey.count(waiting, 7), { count: 7, isMore: true });
  });

  check('all that a filter says holds for subtasks too', async ({ database, clock }) => {
    const { store, survey } = database;
    const { root, child } = await asking(store, clock);
    const at = clock.now();
    clock.advance(200_000);
    const own = aTask({ tool: 'print', owner: 'bob' });
    await create(store, clock, own);
    await ask(store, clock, own.id);
    await expectFound(survey, { ...waiting, tool: child.tool }, [child.id]);
    await expectFound(survey, { ...waiting, tool: 'print' }, [own.id]);
    await expectFound(survey, { ...waiting, owner: child.owner }, [child.id]);
    await expectFound(survey, { ...waiting, owner: 'bob' }, [own.id]);
    await expectFound(survey, { ...waiting, owner: 'bob', tool: child.tool }, []);
    await expectFound(survey, { ...waiting, since: at, until: at + 1 }, [child.id]);
    await expectFound(survey, { ...waiting, since: at + 1 }, [own.id]);
    await expectFound(survey, { ...waiting, until: at }, []);
    await expectFound(survey, { ...waiting, text: child.tool.slice(1).toUpperCase() }, [child.id]);
    await expectFound(survey, { ...waiting, text: child.id.slice(2, 24) }, [child.id]);
    await expectFound(survey, { ...waiting, text: root }, []);
    await expectFound(survey, { ...waiting, text: 'nothing of the kind' }, []);
  });

  check('a subtask of a plain call is found as any other', async ({ database, clock }) => {
    const { store, survey } = database;
    const unpublished = { servedBy: 'here', until: clock.now() + 60_000 };
    const { child } = await asking(store, clock, { unpublished });
    const overview = { since: clock.now() - 1, until: clock.now(), buckets: 1 };
    await expectFound(survey, waiting, [child.id]);
    await expectFound(survey, { text: child.id }, [child.id]);
    assert.equal((await survey.overview(overview)).live.waiting, 1);
  });

  check('an overview counts what its lists have', async ({ database, clock }) => {
    const { store, survey } = database;
    const { child } = await asking(store, clock, { tool: 'collect' });
    await asking(store, clock, { tool: 'collect' });
    const own = aTask({ tool: 'print' });
    await create(store, clock, own);
    await ask(store, clock, own.id);
    const counts = async (owner?: string) => {
      const query = { since: clock.now() - 1, until: clock.now(), buckets: 1 };
      const told = await survey.overview({ ...query, ...(owner !== undefined && { owner }) });
      const tools = told.tools.map(({ tool, running, waiting }) => [tool, running, waiting]);
      return { live: told.live, tools };
    };
    assert.deepEqual(await counts(), {
      live: { queued: 0, running: 2, waiting: 3 },
      tools: [
        ['collect', 2, 0],
        [child.tool, 0, 2],
        ['print', 0, 1],
      ],
    });
    assert.deepEqual((await counts('somebody else')).live, { queued: 0, running: 0, waiting: 0 });
    await store.update('task', child.id, (task) => rules.withdraw(task, [task.inputs[0]!.key], clock.now()));
    assert.equal((await counts()).live.waiting, 2);
  });

  check('whoever ceases to ask is no longer found', async ({ database: { store, survey }, clock }) => {
    const answered = await asking(store, clock);
    const ended = await asking(store, clock);
    await expectFound(survey, waiting, [ended.child.id, answered.child.id]);
    await store.update('task', answered.child.id, (task) =>
      rules.withdraw(task, [task.inputs[0]!.key], clock.now()),
    );
    await expectFound(survey, waiting, [ended.child.id]);
    await end(store, clock, (await store.get(ended.root))!);
    await expectFound(survey, waiting, []);
  });
}
