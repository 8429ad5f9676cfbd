/** `holdfast tasks list` for operators: the tasks of all owners, the newest first. */
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
import { listDetailText, type Style, signOf } from './drawing-style.ts';
import type { Session } from './open-operator.ts';
import { filterFrom } from './options.ts';

/** The maximum number of tasks that are requested and printed at a time. */
const maxPage = 500;

export async function list(session: Session): Promise<number> {
  const { operator, values, output } = session;
  const filter = filterFrom(values, session.now());
  const most = values.all ? Number.POSITIVE_INFINITY : countFrom(values.limit ?? '50', '--limit');
  let shown = 0;
  let cursor: string | undefined;
  do {
    const tasks: TaskSummary[] = [];
    const room = Math.min(most - shown, maxPage);
    // A page can have fewer tasks than requested although more pages follow.
    do {
      const page = await operator.list({
        ...filter,
        limit: room - tasks.length,
        ...(cursor !== undefined && { cursor }),
      });
      tasks.push(...page.tasks);
      cursor = page.nextCursor;
    } while (cursor !== undefined && tasks.length < room);
    print(tasks, session, shown === 0);
    if (tasks.some(({ problem }) => problem === redacted)) session.warnIfHidden();
    shown += tasks.length;
  } while (cursor !== undefined && shown < most);
  if (shown === 0) console.error('No matching tasks.');
  if (cursor !== undefined && !values.json) {
    const { count, isMore } = await operator.count(filter);
    const more = count - shown;
    if (more > 0)
      console.error(
        output.spell(`${isMore ? 'More than ' : ''}${more} more: list them with --all or a higher --limit.`),
      );
  }
  return 0;
}

function print(tasks: readonly TaskSummary[], session: Session, isFirst: boolean): void {
  const { values, output } = session;
  if (tasks.length === 0) return;
  if (values.json) {
    for (const task of tasks) printJson(task);
    return;
  }
  const columns = output.columns ?? Number.POSITIVE_INFINITY;
  const lines = drawList(tasks, session.style(columns));
  // Only the first page has the header. A narrow list has none.
  output.print(isFirst || columns < 60 ? lines : lines.slice(1));
}

// --- A table, or two lines for each task in a narrow terminal -----------------------------------------------

/** Narrower terminals get two lines for each task. */
const minTableColumns = 60;
/** The minimum width of the details. */
const minDetailColumns = 20;

interface TaskColumn extends Column<TaskSummary> {
  colour?(task: TaskSummary): Colour | undefined;
}

/** Nothing is truncated in a pipe, where the number of columns is infinite. */
export function drawList(tasks: readonly TaskSummary[], style: Style): string[] {
  if (style.columns < minTableColumns) return twoLines(tasks, style);
  // Without the last column of the terminal, the signs (2 columns), and the details with their gap.
  const room = style.columns - 1 - 2 - gap.length - minDetailColumns;
  const fullColumns = columnsOf((id) => id, style);
  // Full ids only if no other column is truncated, except the details, which are truncated first.
  const fits = totalWidth(widthsOf(fullColumns, tasks, Number.POSITIVE_INFINITY)) <= room;
  const columns = fits ? fullColumns : columnsOf(shortIds(tasks), style);
  const widths = widthsOf(columns, tasks, room);
  const cellsOf = (texts: readonly string[]) =>
    texts.map((text, i) => pad(truncate(text, widths[i]!), widths[i]!) + gap);
  const rows = tasks.map((task) => {
    const cells = cellsOf(columns.map(({ cell }) => cell(task)));
    const pieces = cells.map((cell, i): Piece => [cell, columns[i]!.colour?.(task)]);
    return line([signOf(task), [' '], ...pieces, [listDetailText(task)]], style).trimEnd();
  });
  const heads = [...cellsOf(columns.map(({ head }) => head)), 'DETAILS'];
  return [line([['  '], [heads.join(''), 'dim']], style), ...rows];
}

function columnsOf(idOf: (id: string) => string, { now }: Style): TaskColumn[] {
  return [
    { head: 'ID', cell: ({ id }) => idOf(id) },
    { head: 'STATUS', cell: ({ status }) => status, colour: (task) => signOf(task)[1] },
    { head: 'TOOL', cell: ({ tool }) => oneLine(tool), least: 12 },
    { head: 'OWNER', cell: ({ owner }) => oneLine(owner) || '-', least: 6 },
    { head: 'AGE', cell: ({ createdAt }) => age(now - createdAt), colour: () => 'dim' },
  ];
}

function twoLines(tasks: readonly TaskSummary[], style: Style): string[] {
  const idOf = shortIds(tasks);
  return tasks.flatMap((task) => {
    const [sign, colour] = signOf(task);
    const time = age(style.now - task.createdAt);
    const id = idOf(task.id);
    // Without the last column of the terminal, the sign (2 columns), and two gaps.
    const room = style.columns - 1 - 2 - id.length - 4 - time.length;
    const tool = pad(truncate(oneLine(task.tool), room), room);
    const details = [oneLine(task.owner), listDetailText(task)].filter((part) => part !== '').join(' · ');
    return [
      line([[sign, colour!], [' '], [id], ['  '], [tool, 'bold'], ['  '], [time, 'dim']], style),
      line([['  '], [task.status, colour!], [details === '' ? '' : ` · ${details}`]], style),
    ];
  });
}

/** One task in one line, for live views and pipes. The end is truncated first. */
export function taskLine(task: TaskSummary, style: Style, idOf = (id: string) => id): string {
  const details = listDetailText(task);
  const isNarrow = style.columns < minTableColumns;
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
      [isNarrow && details !== '' ? '' : `  ${age(style.now - task.createdAt)}`, 'dim'],
      [details === '' ? '' : `  ${details}`],
    ],
    style,
  );
}
