/** `holdfast tasks list`: tasks of everybody, the newest first. */
import { redacted } from '../../model/redaction.ts';
import type { TaskSummary } from '../../operator/api.ts';
import { type Colour, line, oneLine, type Piece, pad, truncate, width } from '../live/terminal-text.ts';
import { printJson } from '../output.ts';
import { shortIds } from '../registry.ts';
import { age } from '../time.ts';
import { countFrom } from '../usage.ts';
import type { At } from './desk.ts';
import { type Look, sayingAlone, signOf } from './look.ts';
import { filterFrom } from './options.ts';

const usual = 50;
const largestPage = 500;

export async function list(at: At): Promise<number> {
  const { desk, values, sight } = at;
  const filter = filterFrom(values, at.now());
  const most = values.all ? Number.POSITIVE_INFINITY : countFrom(values.limit ?? String(usual), '--limit');
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

const gap = '  ';

/** A table has room from here on. */
const narrow = 60;
/** What a task says is cut, but not to less than this. */
const leastSaying = 20;

interface Column {
  readonly head: string;
  cell(task: TaskSummary): string;
  colour?(task: TaskSummary): Colour | undefined;
  /** To be cut where there is no room, but to no less than this. */
  readonly least?: number;
}

/** In a pipe (columns without end) nothing is cut. */
export function drawList(tasks: readonly TaskSummary[], look: Look): string[] {
  if (look.columns < narrow) return twoLines(tasks, look);
  const whole = columnsOf((id) => id, look);
  const short = columnsOf(shortIds(tasks), look);
  // Whole ids only where everything else is whole too, but what a task says: that is cut first.
  const withoutSaying = naturalWidths(whole, tasks).slice(0, -1);
  const fits = withoutSaying.reduce((sum, width) => sum + width + gap.length, 2) + leastSaying < look.columns;
  return table(fits ? whole : short, tasks, look);
}

function columnsOf(idOf: (id: string) => string, { now }: Look): Column[] {
  return [
    { head: 'ID', cell: ({ id }) => idOf(id) },
    { head: 'STANDING', cell: ({ standing }) => standing, colour: (task) => signOf(task)[1] },
    { head: 'TOOL', cell: ({ tool }) => oneLine(tool), least: 12 },
    { head: 'OWNER', cell: ({ owner }) => oneLine(owner) || '-', least: 6 },
    { head: 'AGE', cell: ({ createdAt }) => age(now - createdAt), colour: () => 'dim' },
    { head: 'SAYS', cell: sayingAlone },
  ];
}

function naturalWidths(columns: readonly Column[], tasks: readonly TaskSummary[]): number[] {
  return columns.map(({ head, cell }) => Math.max(width(head), ...tasks.map((task) => width(cell(task)))));
}

function table(columns: readonly Column[], tasks: readonly TaskSummary[], look: Look): string[] {
  const widths = naturalWidths(columns, tasks);
  const room = look.columns - 1 - 2 - gap.length * (columns.length - 1) - leastSaying;
  // The widest gives first, until all fit or none can give more.
  for (;;) {
    const excess = widths.slice(0, -1).reduce((sum, width) => sum + width, 0) - room;
    const canGive = [...columns.keys()].filter(
      (i) => widths[i]! > (columns[i]!.least ?? Number.POSITIVE_INFINITY),
    );
    if (excess <= 0 || canGive.length === 0) break;
    widths[canGive.reduce((a, b) => (widths[b]! > widths[a]! ? b : a))]!--;
  }
  const cellsOf = (texts: readonly string[]) =>
    texts.map((text, i) =>
      i === texts.length - 1 ? text : pad(truncate(text, widths[i]!), widths[i]!) + gap,
    );
  const rows = tasks.map((task) => {
    const cells = cellsOf(columns.map(({ cell }) => cell(task)));
    const pieces = cells.map((cell, i): Piece => [cell, columns[i]!.colour?.(task)]);
    return line([signOf(task), [' '], ...pieces], look).trimEnd();
  });
  return [line([['  '], [cellsOf(columns.map(({ head }) => head)).join(''), 'dim']], look), ...rows];
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
      line([['  '], [task.standing, colour!], [said === '' ? '' : ` · ${said}`]], look),
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
