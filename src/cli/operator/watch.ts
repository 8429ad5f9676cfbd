/** `holdfast tasks watch`: everything at once, or one task until it is over, live. */
import type { TaskStatus } from '../../model/status.ts';
import type { OverviewReport, TaskDetails, TaskSummary } from '../../operator/api.ts';
import { shortIds } from '../calls/registry.ts';
import { printJson } from '../output.ts';
import { age, timeOfDay } from '../time.ts';
import { CommandFailed } from '../usage.ts';
import { line, type Piece, pad, width } from '../views/terminal-text.ts';
import { drawLive, drawStory, eventLine, isNoise } from './draw-task.ts';
import { type Look, paragraph, standingSigns } from './drawing-style.ts';
import { taskLine } from './list.ts';
import { howToLeave, live } from './live-view.ts';
import type { At } from './open-operator.ts';

const windowMs = 3_600_000;
const mostKept = 200;
/** Work that nobody takes for so long is worth a line. */
const tooLongMs = 5_000;

type Board = OverviewReport & { readonly running: readonly TaskSummary[] };

export async function watchAll(at: At): Promise<number> {
  const { desk, sight, values } = at;
  let board: Board | undefined;
  /** The newest first, each as it was then. */
  let changes: TaskSummary[] = [];
  await live(at, {
    heard: (message) => {
      if (values.json) printJson(message);
      else if (message.type === 'changes') {
        const tasks = [...message.tasks, ...message.subtasks];
        if (!sight.terminal) printChanges(tasks, at);
        changes = [...tasks.toReversed(), ...changes].slice(0, mostKept);
      }
      return sight.terminal !== undefined;
    },
    look: async () => {
      if (!sight.terminal || values.json) return 'continues';
      const [overview, running] = await Promise.all([
        desk.overview({ windowMs }),
        desk.list({ statuses: ['running', 'queued'], limit: 50 }),
      ]);
      board = { ...overview, running: running.tasks };
      return 'continues';
    },
    draw: ({ columns, rows, isAway }) => {
      const look = at.look(columns);
      const head = headLine(at, look, isAway);
      return board ? [head, ...drawBoard(board, changes, rows - 1, look)] : [head];
    },
  });
  return 0;
}

/** For those who cannot see it being drawn: a line for each task that changed. */
function printChanges(tasks: readonly TaskSummary[], { look, sight }: At): void {
  const wide = look(Number.POSITIVE_INFINITY);
  sight.print(tasks.map((task) => `${timeOfDay(task.updatedAt)} ${task.status} ${taskLine(task, wide)}`));
}

function headLine({ name, sight }: At, look: Look, isAway: boolean): string {
  const right = isAway ? 'server away, trying again' : howToLeave(sight);
  const time = timeOfDay(look.now);
  const room = look.columns - 3 - width(right);
  const whole = `${time}  ${name}`;
  const left = pad(width(whole) > room ? time : whole, room);
  return line([[left, 'bold'], ['  '], [right, isAway ? 'yellow' : 'dim']], look);
}

function drawBoard(board: Board, changes: readonly TaskSummary[], rows: number, look: Look): string[] {
  const lines = [...countLines(board, look), ''];
  const parts: Part[] = [
    { title: 'waits for an answer', tasks: board.waiting },
    { title: 'goes wrong', tasks: board.failing },
    { title: 'runs', tasks: board.running },
    { title: 'changes', tasks: changes, areChanges: true },
  ].filter(({ tasks }) => tasks.length > 0);
  if (parts.length === 0) lines.push(line([['Nothing goes on.', 'dim']], look));
  return [...lines, ...partLines(parts, rows - lines.length, look)].slice(0, rows);
}

interface Part {
  readonly title: string;
  readonly tasks: readonly TaskSummary[];
  readonly areChanges?: boolean;
}

function countLines({ live, ended, readySince }: OverviewReport, look: Look): string[] {
  const { running, queued, waiting } = live;
  const { completed, failed, cancelled, lost } = ended;
  const counted = (title: string, counts: Partial<Record<TaskStatus, number>>) =>
    line(
      [[title], ...Object.entries(counts).map(([name, count]) => countOf(name as TaskStatus, count))],
      look,
    );
  const countOf = (name: TaskStatus, count: number): Piece => {
    const [sign, colour] = standingSigns[name];
    return [`${sign} ${count}${look.columns < 80 ? '' : ` ${name}`}  `, count > 0 ? colour : 'dim'];
  };
  const waited = readySince === null ? 0 : look.now - readySince;
  const untaken = `Work has been ready for ${age(waited)} and nobody takes it: is there a worker?`;
  return [
    counted('now        ', { running, queued, waiting }),
    counted('last hour  ', { completed, failed, cancelled, lost }),
    ...(waited > tooLongMs ? paragraph(untaken, '', 'yellow', look) : []),
  ];
}

/** The room is shared out fairly: who needs less leaves the rest to the others. */
function partLines(parts: readonly Part[], rows: number, look: Look): string[] {
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
      line([[title, 'bold']], look),
      ...shown.map((task) => {
        if (!part.areChanges) return taskLine(task, look, idOf);
        const time = `${timeOfDay(task.updatedAt)} `;
        return `${look.paint('dim', time)}${taskLine(task, { ...look, columns: look.columns - time.length }, idOf)}`;
      }),
    ];
  });
}

const leftByKey = 130;

export async function watchOne(at: At, first: TaskDetails): Promise<number> {
  const { desk, sight, values } = at;
  let story = first;
  let told = -1;
  /** Lines for those who cannot see it being drawn. */
  const tell = () => {
    if (story.task.version === told) return;
    if (values.json) printJson(story.task);
    else if (!sight.terminal)
      sight.print(story.events.filter((one) => one.version > told && !isNoise(one)).map(eventLine));
    told = story.task.version;
  };
  const how = await live(at, {
    heard: (message) =>
      message.type === 'reset' ||
      message.removed.includes(first.task.rootId) ||
      message.tasks.some(({ id }) => id === first.task.rootId),
    look: async () => {
      const found = await desk.details(first.task.id);
      if (!found) throw new CommandFailed(`Task ${first.task.id} was removed.`);
      story = found;
      tell();
      return story.task.finishedAt === undefined ? 'continues' : 'over';
    },
    draw: ({ columns, rows, isAway }) => {
      const look = at.look(columns);
      const last = isAway ? 'The server is away; trying again.' : howToLeave(sight);
      return [...drawLive(story, look, rows - 2), '', line([[last, isAway ? 'yellow' : 'dim']], look)];
    },
  });
  if (how === 'left') return leftByKey;
  if (sight.terminal && !values.json) {
    sight.print(drawStory(story, at.look()));
    at.sayWhatIsHidden();
  }
  return story.task.status === 'completed' ? 0 : 1;
}
