/** Everything that can be read through the ports of a database. */
import type { Database, Task, TaskId } from '../../../src/index.ts';
import { taskStatuses } from '../../../src/model/status.ts';
import type { Due, ToolVersion } from '../../../src/store.ts';
import { listed, pagesOf } from '../../kit/listed.ts';

/** More than there is. */
export const allOf = 10_000;
export const owners: readonly string[] = ['alice', 'bob'];

const first: ToolVersion = { tool: 'publish_report', version: '1' };
const second: ToolVersion = { tool: 'summarise', version: '1' };
/** The tools of different workers. */
export const tools: readonly (readonly ToolVersion[])[] = [[first, second], [first], [second], []];

export async function readTask({ store, queries: survey }: Database, id: TaskId) {
  const [family, asking, childIds, commits, someCommits, journal, history, someHistory, ...ofOwner] =
    await Promise.all([
      store.family(id),
      store.asking(id),
      store.childIds(id),
      store.commitsOf(id, 0, allOf),
      store.commitsOf(id, 2, 3),
      store.journal(id),
      survey.history(id, { afterVersion: 0, limit: 1_000 }),
      survey.history(id, { afterVersion: 1, limit: 2 }),
      ...[...owners, 'mallory'].map((owner) => store.get(id, owner)),
    ]);
  return { family, asking, childIds, commits, someCommits, journal, history, someHistory, ofOwner };
}

/** Everything else. `due` is ordered by moment; tasks of the same moment may come in any order. */
export async function readAll({ store, queue, queries: survey, sessions, audit }: Database, now: number) {
  const surveyed = async (filter: object) => {
    const pages = pagesOf((from) => survey.list({ ...filter, limit: 7, ...from }));
    return (await Array.fromAsync(pages)).flatMap(({ tasks }) => tasks.map(({ id }) => id));
  };
  const due = async (what: Due, at: number) => {
    const ids = await store.due(what, at, allOf);
    const moments = await Promise.all(ids.map(async (id) => momentOf(what, (await store.get(id))!)));
    const some = (await store.due(what, at, 3)).map((id) => moments[ids.indexOf(id)]);
    return { moments, some, ids: ids.sort() };
  };
  const since = now - 600_000;
  const filters = [{}, ...taskStatuses.map((status) => ({ statuses: [status] }))];
  return {
    lists: await Promise.all(
      owners.flatMap((owner) => [3, allOf].map((limit) => Array.fromAsync(listed(store, { owner, limit })))),
    ),
    counts: await Promise.all(
      [undefined, ...owners].flatMap((owner) =>
        (['live', 'stored'] as const).flatMap((what) =>
          [2, allOf].map((upTo) => store.count(owner, what, upTo)),
        ),
      ),
    ),
    due: {
      deadline: await due('deadline', now + 60_000),
      purge: await due('purge', now + 60_000),
      oldest: await due('oldest', Number.MAX_SAFE_INTEGER),
    },
    queries: await Promise.all(
      [...filters, ...owners.map((owner) => ({ owner }))].map(async (filter) => ({
        filter,
        list: await surveyed(filter),
        count: await survey.count(filter, allOf),
      })),
    ),
    overviews: await Promise.all(
      [{}, { owner: 'alice' }].map((whose) => survey.overview({ ...whose, since, until: now, buckets: 6 })),
    ),
    backlogs: await Promise.all(tools.map((some) => queue.backlog(some, allOf))),
    orphans: await Promise.all(tools.map(async (some) => (await queue.orphans(some, now, allOf)).sort())),
    sessions: await Promise.all([0, 1, 2, 3, 4].map((n) => sessions.get(`session ${n}`))),
    audit: (await audit.read({ limit: allOf })).entries,
  };
}

function momentOf(what: Due, task: Task): number | null | undefined {
  if (task.phase !== 'done') return task.deadlineAt;
  return what === 'purge' ? task.purgeAt : task.finishedAt;
}
