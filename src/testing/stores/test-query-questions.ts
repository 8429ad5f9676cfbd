/** The checks of questions that subtasks ask: whoever looks for what waits for a person must find them. */
import assert from 'node:assert/strict';
import * as rules from '../../engine/rules/transitions.ts';
import { pagesOf } from '../../model/paging.ts';
import type { NewTask, Task, TaskId } from '../../model/task.ts';
import type { Change } from '../../ports/change.ts';
import type { TaskFilter, TaskQueries } from '../../ports/query.ts';
import { ids, type StoreCommands } from './store-commands.ts';
import type { checks } from './suite.ts';

/** Lists everything that fits, in pages of `limit`, and counts it: where one is wrong the other is too. */
export async function expectFound(
  survey: TaskQueries,
  filter: TaskFilter,
  wanted: readonly TaskId[],
  limit = 100,
): Promise<void> {
  const found: { readonly id: TaskId }[] = [];
  for await (const { tasks } of pagesOf((from) => survey.list({ ...filter, limit, ...from }))) {
    assert.ok(tasks.length <= limit);
    found.push(...tasks);
  }
  assert.deepEqual(ids(found), wanted);
  assert.deepEqual(await survey.count(filter, 1_000), { count: wanted.length, isMore: false });
}

/** A running root, and below it a subtask that asks. */
async function asking(
  tasks: StoreCommands,
  given: Partial<NewTask> = {},
): Promise<{ root: Task; child: Task }> {
  const { task: root, claim } = await tasks.claimed(given);
  const child = await tasks.startChild(claim);
  await tasks.ask(await tasks.claimOne(child));
  return { root, child };
}

function withdraw(tasks: StoreCommands, child: Task): Promise<Change> {
  return tasks.act('task', child, (task, at) => rules.withdraw(task, [task.inputs[0]!.key], at));
}

export function testAsking({ check }: ReturnType<typeof checks>): void {
  const waiting = { statuses: ['waiting'] } as const;

  check(
    'a subtask that asks is found among what waits, at any depth',
    async ({ store, queries: survey, tasks }) => {
      const { root, child } = await asking(tasks);
      await expectFound(survey, waiting, [child.id]);
      const [listed] = (await survey.list({ ...waiting, limit: 1 })).tasks;
      assert.deepEqual(listed, await store.get(child.id));
      assert.equal(listed?.parentId, root.id);
      const { claim } = await tasks.claimed();
      const middle = await tasks.startChild(claim);
      const grandchild = await tasks.startChild(await tasks.claimOne(middle));
      await expectFound(survey, waiting, [child.id]);
      await tasks.ask(await tasks.claimOne(grandchild));
      await expectFound(survey, waiting, [grandchild.id, child.id]);
    },
  );

  check('other lists are of roots, whatever is asked below', async ({ queries: survey, clock, tasks }) => {
    const first = await asking(tasks);
    const second = await asking(tasks);
    const roots = [second.root.id, first.root.id];
    await expectFound(survey, {}, roots);
    await expectFound(survey, { statuses: ['running'] }, roots);
    await expectFound(survey, { tool: first.child.tool }, []);
    await expectFound(survey, { since: 0, until: clock.now() + 1 }, roots);
  });

  check(
    'roots and subtasks that wait are one list, and its pages are whole',
    async ({ queries: survey, tasks }) => {
      const wanted: TaskId[] = [];
      const all: TaskId[] = [];
      for (let n = 0; n < 5; n++) {
        const { root, child } = await asking(tasks);
        await tasks.create();
        const own = await tasks.standing('waiting');
        wanted.unshift(own, child.id);
        all.unshift(own, child.id, root.id);
      }
      for (const limit of [1, 2, 3, 10]) await expectFound(survey, waiting, wanted, limit);
      await expectFound(survey, { statuses: ['waiting', 'failed'] }, wanted);
      await expectFound(survey, { statuses: ['waiting', 'completed'] }, wanted);
      await expectFound(survey, { statuses: ['running', 'waiting'] }, all);
      assert.deepEqual(await survey.count(waiting, 7), { count: 7, isMore: true });
    },
  );

  check('all that a filter says holds for subtasks too', async ({ queries: survey, clock, tasks }) => {
    const { root, child } = await asking(tasks);
    const at = clock.now();
    clock.advance(200_000);
    const own = await tasks.standing('waiting', { tool: 'print', owner: 'bob' });
    await expectFound(survey, { ...waiting, tool: child.tool }, [child.id]);
    await expectFound(survey, { ...waiting, tool: 'print' }, [own]);
    await expectFound(survey, { ...waiting, owner: child.owner }, [child.id]);
    await expectFound(survey, { ...waiting, owner: 'bob' }, [own]);
    await expectFound(survey, { ...waiting, owner: 'bob', tool: child.tool }, []);
    await expectFound(survey, { ...waiting, since: at, until: at + 1 }, [child.id]);
    await expectFound(survey, { ...waiting, since: at + 1 }, [own]);
    await expectFound(survey, { ...waiting, until: at }, []);
    await expectFound(survey, { ...waiting, text: child.tool.slice(1).toUpperCase() }, [child.id]);
    await expectFound(survey, { ...waiting, text: child.id.slice(2, 24) }, [child.id]);
    await expectFound(survey, { ...waiting, text: root.id }, []);
    await expectFound(survey, { ...waiting, text: 'nothing of the kind' }, []);
  });

  check('a subtask of a plain call is found as any other', async ({ queries: survey, clock, tasks }) => {
    const unpublished = { servedBy: 'here', until: clock.now() + 60_000 };
    const { child } = await asking(tasks, { unpublished });
    const overview = { since: clock.now() - 1, until: clock.now(), buckets: 1 };
    await expectFound(survey, waiting, [child.id]);
    await expectFound(survey, { text: child.id }, [child.id]);
    assert.equal((await survey.overview(overview)).live.waiting, 1);
  });

  check('an overview counts what its lists have', async ({ queries: survey, clock, tasks }) => {
    const { child } = await asking(tasks, { tool: 'collect' });
    await asking(tasks, { tool: 'collect' });
    await tasks.standing('waiting', { tool: 'print' });
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
    await withdraw(tasks, child);
    assert.equal((await counts()).live.waiting, 2);
  });

  check('whoever ceases to ask is no longer found', async ({ queries: survey, tasks }) => {
    const answered = await asking(tasks);
    const ended = await asking(tasks);
    await expectFound(survey, waiting, [ended.child.id, answered.child.id]);
    await withdraw(tasks, answered.child);
    await expectFound(survey, waiting, [ended.child.id]);
    await tasks.end(ended.root);
    await expectFound(survey, waiting, []);
  });
}
