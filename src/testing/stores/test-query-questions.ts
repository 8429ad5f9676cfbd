/** Tests of queries for subtasks that ask a question: a query for `waiting` must find them. */
import assert from 'node:assert/strict';
import * as rules from '../../engine/rules/transitions.ts';
import { pagesOf } from '../../model/paging.ts';
import type { NewTask, Task, TaskId } from '../../model/task.ts';
import type { Change } from '../../ports/change.ts';
import type { TaskFilter, TaskQueries } from '../../ports/query.ts';
import { ids, type StoreCommands } from './store-commands.ts';
import type { checks } from './suite.ts';

/** Expects that a list, read in pages of `limit`, has exactly these tasks in this order, and that a count agrees. */
export async function expectFound(
  queries: TaskQueries,
  filter: TaskFilter,
  wanted: readonly TaskId[],
  limit = 100,
): Promise<void> {
  const found: { readonly id: TaskId }[] = [];
  for await (const { tasks } of pagesOf((from) => queries.list({ ...filter, limit, ...from }))) {
    assert.ok(tasks.length <= limit);
    found.push(...tasks);
  }
  assert.deepEqual(ids(found), wanted);
  assert.deepEqual(await queries.count(filter, 1_000), { count: wanted.length, isMore: false });
}

/** A running root with a subtask that asks a question. */
async function asking(
  tasks: StoreCommands,
  given: Partial<NewTask> = {},
): Promise<{ root: Task; child: Task }> {
  const { task: root, claim } = await tasks.claimed(given);
  const child = await tasks.startChild(claim);
  await tasks.ask(await tasks.claimOne(child));
  return { root, child };
}

/** Withdraws the question of a subtask. */
function withdraw(tasks: StoreCommands, child: Task): Promise<Change> {
  return tasks.act('task', child, (task, at) => rules.withdraw(task, [task.inputs[0]!.key], at));
}

export function testAsking({ check }: ReturnType<typeof checks>): void {
  const waiting = { statuses: ['waiting'] } as const;

  check(
    'a query for waiting tasks finds subtasks that ask, at any depth',
    async ({ store, queries, tasks }) => {
      const { root, child } = await asking(tasks);
      await expectFound(queries, waiting, [child.id]);
      const [listed] = (await queries.list({ ...waiting, limit: 1 })).tasks;
      assert.deepEqual(listed, await store.get(child.id));
      assert.equal(listed?.parentId, root.id);
      const { claim } = await tasks.claimed();
      const middle = await tasks.startChild(claim);
      const grandchild = await tasks.startChild(await tasks.claimOne(middle));
      await expectFound(queries, waiting, [child.id]);
      await tasks.ask(await tasks.claimOne(grandchild));
      await expectFound(queries, waiting, [grandchild.id, child.id]);
    },
  );

  check('other queries return only roots', async ({ queries, clock, tasks }) => {
    const first = await asking(tasks);
    const second = await asking(tasks);
    const roots = [second.root.id, first.root.id];
    await expectFound(queries, {}, roots);
    await expectFound(queries, { statuses: ['running'] }, roots);
    await expectFound(queries, { tool: first.child.tool }, []);
    await expectFound(queries, { since: 0, until: clock.now() + 1 }, roots);
  });

  check('waiting roots and subtasks are in one list, with complete pages', async ({ queries, tasks }) => {
    const wanted: TaskId[] = [];
    const all: TaskId[] = [];
    for (let n = 0; n < 5; n++) {
      const { root, child } = await asking(tasks);
      await tasks.create();
      const own = await tasks.withStatus('waiting');
      wanted.unshift(own, child.id);
      all.unshift(own, child.id, root.id);
    }
    for (const limit of [1, 2, 3, 10]) await expectFound(queries, waiting, wanted, limit);
    await expectFound(queries, { statuses: ['waiting', 'failed'] }, wanted);
    await expectFound(queries, { statuses: ['waiting', 'completed'] }, wanted);
    await expectFound(queries, { statuses: ['running', 'waiting'] }, all);
    assert.deepEqual(await queries.count(waiting, 7), { count: 7, isMore: true });
  });

  check('all fields of a filter apply to subtasks, too', async ({ queries, clock, tasks }) => {
    const { root, child } = await asking(tasks);
    const at = clock.now();
    clock.advance(200_000);
    const own = await tasks.withStatus('waiting', { tool: 'print', owner: 'bob' });
    await expectFound(queries, { ...waiting, tool: child.tool }, [child.id]);
    await expectFound(queries, { ...waiting, tool: 'print' }, [own]);
    await expectFound(queries, { ...waiting, owner: child.owner }, [child.id]);
    await expectFound(queries, { ...waiting, owner: 'bob' }, [own]);
    await expectFound(queries, { ...waiting, owner: 'bob', tool: child.tool }, []);
    await expectFound(queries, { ...waiting, since: at, until: at + 1 }, [child.id]);
    await expectFound(queries, { ...waiting, since: at + 1 }, [own]);
    await expectFound(queries, { ...waiting, until: at }, []);
    await expectFound(queries, { ...waiting, text: child.tool.slice(1).toUpperCase() }, [child.id]);
    await expectFound(queries, { ...waiting, text: child.id.slice(2, 24) }, [child.id]);
    await expectFound(queries, { ...waiting, text: root.id }, []);
    await expectFound(queries, { ...waiting, text: 'nothing of the kind' }, []);
  });

  check('a subtask of a plain call is found like any other', async ({ queries, clock, tasks }) => {
    const unpublished = { servedBy: 'here', until: clock.now() + 60_000 };
    const { child } = await asking(tasks, { unpublished });
    const overview = { since: clock.now() - 1, until: clock.now(), buckets: 1 };
    await expectFound(queries, waiting, [child.id]);
    await expectFound(queries, { text: child.id }, [child.id]);
    assert.equal((await queries.overview(overview)).live.waiting, 1);
  });

  check('an overview counts the same tasks as the lists', async ({ queries, clock, tasks }) => {
    const { child } = await asking(tasks, { tool: 'collect' });
    await asking(tasks, { tool: 'collect' });
    await tasks.withStatus('waiting', { tool: 'print' });
    const counts = async (owner?: string) => {
      const query = { since: clock.now() - 1, until: clock.now(), buckets: 1 };
      const overview = await queries.overview({ ...query, ...(owner !== undefined && { owner }) });
      const tools = overview.tools.map(({ tool, running, waiting }) => [tool, running, waiting]);
      return { live: overview.live, tools };
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

  check('a subtask is no longer found when its question is closed', async ({ queries, tasks }) => {
    const answered = await asking(tasks);
    const ended = await asking(tasks);
    await expectFound(queries, waiting, [ended.child.id, answered.child.id]);
    await withdraw(tasks, answered.child);
    await expectFound(queries, waiting, [ended.child.id]);
    await tasks.end(ended.root);
    await expectFound(queries, waiting, []);
  });
}
