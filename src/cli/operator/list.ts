/** `holdfast tasks list`: tasks of everybody, the newest first. */
import { redacted } from '../../model/redaction.ts';
import type { TaskSummary } from '../../operator/api.ts';
import { shortIds } from '../calls/registry.ts';
import { printJson } from '../output.ts';
import { age } from '../time.ts';
import { countFrom } from '../usage.ts';
import {
  type Colour,
  type Column,
  gap,
  line,
  oneLine,
  type Piece,
  pad,
  totalWidth,
  truncate,
  widthsOf,
} from '../views/terminal-text.ts';
import { type Look, sayingAlone, signOf } from './drawing-style.ts';
import type { At } from './open-operator.ts';
import { filterFrom } from './options.ts';

const largestPage = 500;

export async function list(at: At): Promise<number> {
  const { desk, values, sight } = at;
  const filter = filterFrom(values, at.now());
  const most = values.all ? Number.POSITIVE_INFINITY : countFrom(values.limit ?? '50', '--limit');
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

// --- The table; without room for one, two lines for each task -----------------------------------------------

/** A table has room from here on. */
const narrow = 60;
/** What a task says is cut, but not to less than this. */
const leastSaying = 20;

interface TaskColumn extends Column<TaskSummary> {
  colour?(task: TaskSummary): Colour | undefined;
}

/** In a pipe (columns without end) nothing is cut. */
export function drawList(tasks: readonly TaskSummary[], look: Look): string[] {
  if (look.columns < narrow) return twoLines(tasks, look);
  // Beside the signs, and what tasks say.
  const room = look.columns - 1 - 2 - gap.length - leastSaying;
  const whole = columnsOf((id) => id, look);
  // Whole ids only where everything else is whole too, but what a task says: that is cut first.
  const fits = totalWidth(widthsOf(whole, tasks, Number.POSITIVE_INFINITY)) <= room;
  const columns = fits ? whole : columnsOf(shortIds(tasks), look);
  const widths = widthsOf(columns, tasks, room);
  const cellsOf = (texts: readonly string[]) =>
    texts.map((text, i) => pad(truncate(text, widths[i]!), widths[i]!) + gap);
  const rows = tasks.map((task) => {
    const cells = cellsOf(columns.map(({ cell }) => cell(task)));
    const pieces = cells.map((cell, i): Piece => [cell, columns[i]!.colour?.(task)]);
    return line([signOf(task), [' '], ...pieces, [sayingAlone(task)]], look).trimEnd();
  });
  const heads = [...cellsOf(columns.map(({ head }) => head)), 'SAYS'];
  return [line([['  '], [heads.join(''), 'dim']], look), ...rows];
}

function columnsOf(idOf: (id: string) => string, { now }: Look): TaskColumn[] {
  return [
    { head: 'ID', cell: ({ id }) => idOf(id) },
    { head: 'STANDING', cell: ({ status: standing }) => standing, colour: (task) => signOf(task)[1] },
    { head: 'TOOL', cell: ({ tool }) => oneLine(tool), least: 12 },
    { head: 'OWNER', cell: ({ owner }) => oneLine(owner) || '-', least: 6 },
    { head: 'AGE', cell: ({ createdAt }) => age(now - createdAt), colour: () => 'dim' },
  ];
}

function twoLines(tasks: readonly TaskSummary[], look: Look): string[] {
  const idOf = shortIds(tasks);
  return tasks.flatMap((task) => {
    const [sign, colour] = signOf(task);
    const time = age(look.now - task.createdAt);
    const id = idOf(task.id);
    const room = look.columns - 1 - 2 - id.length - 4 - time.length;
    const tool = pad(truncate(oneLine(task.tool), room), room);
    const said = [oneLine(task.owner), sayingAlone(task)].filter((part) => part !== '').join(' · ');
    return [
      line([[sign, colour!], [' '], [id], ['  '], [tool, 'bold'], ['  '], [time, 'dim']], look),
      line([['  '], [task.status, colour!], [said === '' ? '' : ` · ${said}`]], look),
    ];
  });
}

/** One task in one line, for live views and for pipes: what is said last is cut first. */
export function taskLine(task: TaskSummary, look: Look, idOf = (id: string) => id): string {
  const said = sayingAlone(task);
  const isNarrow = look.columns < narrow;
  const tool = oneLine(task.tool);
  const owner = isNarrow ? '' : oneLine(task.owner);
  return line(
    [
      signOf(task),
      [' '],
      [idOf(task.id)],
      ['  '],
      [isNarrow ? truncate(tool, 12) : tool, 'bold'],
      [owner === '' ? '' : `  ${owner}`],
      [isNarrow && said !== '' ? '' : `  ${age(look.now - task.createdAt)}`, 'dim'],
      [said === '' ? '' : `  ${said}`],
    ],
    look,
  );
}
