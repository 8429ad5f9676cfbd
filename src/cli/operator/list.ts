/** `holdfast tasks list`: tasks of everybody, the newest first. */

import { redacted } from '../../model/redaction.ts';
import type { TaskSummary } from '../../operator/api.ts';
import { printJson } from '../json-line.ts';
import type { At } from './at.ts';
import { drawList } from './draw-list.ts';
import { filterFrom, limitFrom } from './options.ts';

const usual = 50;
const largestPage = 500;

export async function list(at: At): Promise<number> {
  const { desk, values, sight } = at;
  const filter = filterFrom(values, at.now());
  const most = values.all ? Number.POSITIVE_INFINITY : limitFrom(values.limit ?? String(usual));
  let shown = 0;
  let cursor: string | undefined;
  do {
    const tasks: TaskSummary[] = [];
    const room = Math.min(most - shown, largestPage);
    // A page may be short and not be the last.
    do {
      const page = await desk.list({
        ...filter,
        limit: room - tasks.length,
        ...(cursor !== undefined && { cursor }),
      });
      tasks.push(...page.tasks);
      cursor = page.nextCursor;
    } while (cursor !== undefined && tasks.length < room);
    print(tasks, at, shown === 0);
    if (tasks.some(({ problem }) => problem === redacted)) at.sayWhatIsHidden();
    shown += tasks.length;
  } while (cursor !== undefined && shown < most);
  if (shown === 0) console.error('There are no such tasks.');
  if (cursor !== undefined && !values.json) {
    const { count, isMore } = await desk.count(filter);
    const more = count - shown;
    if (more > 0)
      console.error(
        sight.spell(
          `${isMore ? 'More than ' : ''}${more} more: --limit N shows so many, --all shows all of them.`,
        ),
      );
  }
  return 0;
}

function print(tasks: readonly TaskSummary[], at: At, isFirst: boolean): void {
  const { values, sight } = at;
  if (tasks.length === 0) return;
  if (values.json) {
    for (const task of tasks) printJson(task);
    return;
  }
  const columns = sight.columns ?? Number.POSITIVE_INFINITY;
  const lines = drawList(tasks, at.look(columns));
  sight.print(isFirst || columns < 60 ? lines : lines.slice(1));
}
