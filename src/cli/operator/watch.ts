/** `holdfast tasks watch`: a live view of all tasks, or of one task until it finishes. */
import type { TaskStatus } from '../../model/status.ts';
import type { OverviewReport, TaskDetails, TaskSummary } from '../../operator/api.ts';
import { shortIds } from '../calls/registry.ts';
import { printJson } from '../output.ts';
import { age, timeOfDay } from '../time.ts';
import { CommandFailed } from '../usage.ts';
import { line, type Piece, pad, width } from '../views/terminal-text.ts';
import { drawLive, drawTask, eventLine, isNoise } from './draw-task.ts';
import { paragraph, type Style, statusSigns } from './drawing-style.ts';
import { taskLine } from './list.ts';
import { live, quitHint } from './live-view.ts';
import type { Session } from './open-operator.ts';

/** The period in which finished tasks are counted: the last hour. */
const windowMs = 3_600_000;
/** How many recent changes are kept. */
const maxChanges = 200;
/** Warn if ready tasks wait longer than this for a worker. */
const idleWarningMs = 5_000;

type Board = OverviewReport & { readonly running: readonly TaskSummary[] };

export async function watchAll(session: Session): Promise<number> {
  const { operator, output, values } = session;
  let board: Board | undefined;
  /** The newest first, each as it was at that time. */
  let changes: TaskSummary[] = [];
  await live(session, {
    needsRefresh: (message) => {
      if (values.json) printJson(message);
      else if (message.type === 'changes') {
        const tasks = [...message.tasks, ...message.subtasks];
        if (!output.terminal) printChanges(tasks, session);
        changes = [...tasks.toReversed(), ...changes].slice(0, maxChanges);
      }
      return output.terminal !== undefined;
    },
    refresh: async () => {
      if (!output.terminal || values.json) return 'continues';
      const [overview, running] = await Promise.all([
        operator.overview({ windowMs }),
        operator.list({ statuses: ['running', 'queued'], limit: 50 }),
      ]);
      board = { ...overview, running: running.tasks };
      return 'continues';
    },
    draw: ({ columns, rows, isUnavailable }) => {
      const style = session.style(columns);
      const head = headLine(session, style, isUnavailable);
      return board ? [head, ...drawBoard(board, changes, rows - 1, style)] : [head];
    },
  });
  return 0;
}

/** Without a terminal: one line for each task that changed. */
function printChanges(tasks: readonly TaskSummary[], { style, output }: Session): void {
  const wide = style(Number.POSITIVE_INFINITY);
  output.print(tasks.map((task) => `${timeOfDay(task.updatedAt)} ${task.status} ${taskLine(task, wide)}`));
}

function headLine({ name, output }: Session, style: Style, isUnavailable: boolean): string {
  const right = isUnavailable ? 'server unavailable, retrying' : quitHint(output);
  const time = timeOfDay(style.now);
  const room = style.columns - 3 - width(right);
  const full = `${time}  ${name}`;
  const left = pad(width(full) > room ? time : full, room);
  return line([[left, 'bold'], ['  '], [right, isUnavailable ? 'yellow' : 'dim']], style);
}

function drawBoard(board: Board, changes: readonly TaskSummary[], rows: number, style: Style): string[] {
  const lines = [...countLines(board, style), ''];
  const parts: Part[] = [
    { title: 'Waiting for an answer', tasks: board.waiting },
    { title: 'Failed', tasks: board.failing },
    { title: 'Running', tasks: board.running },
    { title: 'Recent changes', tasks: changes, areChanges: true },
  ].filter(({ tasks }) => tasks.length > 0);
  if (parts.length === 0) lines.push(line([['No activity.', 'dim']], style));
  return [...lines, ...partLines(parts, rows - lines.length, style)].slice(0, rows);
}

interface Part {
  readonly title: string;
  readonly tasks: readonly TaskSummary[];
  /** True for changes, which start with their time. Their number is not shown. */
  readonly areChanges?: boolean;
}

function countLines({ live, ended, readySince }: OverviewReport, style: Style): string[] {
  const { running, queued, waiting } = live;
  const { completed, failed, cancelled, lost } = ended;
  const counted = (title: string, counts: Partial<Record<TaskStatus, number>>) =>
    line(
      [[title], ...Object.entries(counts).map(([name, count]) => countOf(name as TaskStatus, count))],
      style,
    );
  const countOf = (name: TaskStatus, count: number): Piece => {
    const [sign, colour] = statusSigns[name];
    return [`${sign} ${count}${style.columns < 80 ? '' : ` ${name}`}  `, count > 0 ? colour : 'dim'];
  };
  const waited = readySince === null ? 0 : style.now - readySince;
  const warning = `Tasks have been ready for ${age(waited)} without a worker: check that one is running.`;
  return [
    counted('Now        ', { running, queued, waiting }),
    counted('Last hour  ', { completed, failed, cancelled, lost }),
    ...(waited > idleWarningMs ? paragraph(warning, '', 'yellow', style) : []),
  ];
}

/** Divides the rows fairly: parts that need fewer leave the rest to the others. */
function partLines(parts: readonly Part[], rows: number, style: Style): string[] {
  // Each part has a title, and a blank line before it unless it is the first.
  let room = rows - 2 * parts.length + 1;
  let left = parts.length;
  const shares = new Map<Part, number>();
  for (const part of parts.toSorted((a, b) => a.tasks.length - b.tasks.length)) {
    const share = Math.max(1, Math.min(part.tasks.length, Math.floor(room / left)));
    shares.set(part, share);
    room -= share;
    left--;
  }
  const idOf = shortIds(parts.flatMap(({ tasks }) => tasks));
  return parts.flatMap((part, i) => {
    const shown = part.tasks.slice(0, shares.get(part));
    const more = part.tasks.length - shown.length;
    const title = `${part.title}${more > 0 && !part.areChanges ? ` (${part.tasks.length})` : ''}`;
    return [
      ...(i > 0 ? [''] : []),
      line([[title, 'bold']], style),
      ...shown.map((task) => {
        if (!part.areChanges) return taskLine(task, style, idOf);
        const time = `${timeOfDay(task.updatedAt)} `;
        return `${style.paint('dim', time)}${taskLine(task, { ...style, columns: style.columns - time.length }, idOf)}`;
      }),
    ];
  });
}

/** The exit code of a program that Ctrl-C ends. */
const quitExitCode = 130;

export async function watchOne(session: Session, first: TaskDetails): Promise<number> {
  const { operator, output, values } = session;
  let details = first;
  /** The version of the task that was printed last. */
  let printed = -1;
  /** Prints JSON, or lines if there is no terminal. */
  const print = () => {
    if (details.task.version === printed) return;
    if (values.json) printJson(details.task);
    else if (!output.terminal)
      output.print(details.events.filter((one) => one.version > printed && !isNoise(one)).map(eventLine));
    printed = details.task.version;
  };
  const how = await live(session, {
    needsRefresh: (message) =>
      message.type === 'reset' ||
      message.removed.includes(first.task.rootId) ||
      message.tasks.some(({ id }) => id === first.task.rootId),
    refresh: async () => {
      const found = await operator.details(first.task.id);
      if (!found) throw new CommandFailed(`Task ${first.task.id} was removed.`);
      details = found;
      print();
      return details.task.finishedAt === undefined ? 'continues' : 'over';
    },
    draw: ({ columns, rows, isUnavailable }) => {
      const style = session.style(columns);
      const last = isUnavailable ? 'Server unavailable; retrying.' : quitHint(output);
      return [
        ...drawLive(details, style, rows - 2),
        '',
        line([[last, isUnavailable ? 'yellow' : 'dim']], style),
      ];
    },
  });
  if (how === 'left') return quitExitCode;
  if (output.terminal && !values.json) {
    output.print(drawTask(details, session.style()));
    session.warnIfHidden();
  }
  return details.task.status === 'completed' ? 0 : 1;
}
