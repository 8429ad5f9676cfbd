/** `holdfast tasks watch`: everything at once, live. */

import type { Standing } from '../../model/standing.ts';
import type { OverviewReport, TaskSummary } from '../../operator/api.ts';
import { printJson } from '../json-line.ts';
import { pad, width } from '../live/width.ts';
import { age, timeOfDay } from '../time.ts';
import type { At } from './at.ts';
import { shortIds, taskLine } from './draw-list.ts';
import { howToLeave, live } from './live.ts';
import { type Look, line, type Piece, paragraph } from './look.ts';
import { standingSigns } from './signs.ts';

const windowMs = 3_600_000;
const mostKept = 200;
/** Work that nobody takes for so long is worth a line. */
const tooLongMs = 5_000;

interface Seen {
  readonly overview: OverviewReport;
  readonly running: readonly TaskSummary[];
}

export async function watchAll(at: At): Promise<number> {
  const { desk, sight, values } = at;
  const board = new Board(at);
  await live(desk, sight, {
    heard: (message) => {
      if (values.json) printJson(message);
      else if (message.type === 'changes') {
        const tasks = [...message.tasks, ...message.subtasks];
        if (!sight.terminal) board.print(tasks);
        board.add(tasks);
      }
      return sight.terminal !== undefined;
    },
    look: async () => {
      if (sight.terminal && !values.json) await board.look();
      return 'goes on';
    },
    away: () => sight.terminal || values.json || console.error('The server is away; trying again.'),
    back: () => sight.terminal || values.json || console.error('The server is back.'),
    ...(!values.json && { draw: (size) => board.draw(size) }),
  });
  return 0;
}

export class Board {
  readonly #at: At;
  #seen: Seen | undefined;
  /** The newest first, each as it was then. */
  #changes: TaskSummary[] = [];

  constructor(at: At) {
    this.#at = at;
  }

  async look(): Promise<void> {
    const { desk } = this.#at;
    const [overview, running] = await Promise.all([
      desk.overview({ windowMs }),
      desk.list({ standings: ['running', 'queued'], limit: 50 }),
    ]);
    this.#seen = { overview, running: running.tasks };
  }

  add(tasks: readonly TaskSummary[]): void {
    this.#changes = [...tasks.toReversed(), ...this.#changes].slice(0, mostKept);
  }

  /** For those who cannot see it being drawn: a line for each task that changed. */
  print(tasks: readonly TaskSummary[]): void {
    const look = { ...this.#at.look(), columns: Number.POSITIVE_INFINITY };
    this.#at.sight.print(
      tasks.map((task) => `${timeOfDay(task.updatedAt)} ${task.standing} ${taskLine(task, look)}`),
    );
  }

  draw({ columns, rows, isAway }: { columns: number; rows: number; isAway: boolean }): string[] {
    const look = this.#at.look(columns);
    const lines = [this.#head(look, isAway)];
    if (!this.#seen) return lines;
    const { overview, running } = this.#seen;
    lines.push(...countLines(overview, look), '');
    const parts: Part[] = [
      { title: 'waits for an answer', tasks: overview.waiting },
      { title: 'goes wrong', tasks: overview.failing },
      { title: 'runs', tasks: running },
      { title: 'changes', tasks: this.#changes, areChanges: true },
    ].filter(({ tasks }) => tasks.length > 0);
    if (parts.length === 0) lines.push(line([['Nothing goes on.', 'dim']], look));
    return [...lines, ...partLines(parts, rows - lines.length, look)].slice(0, rows);
  }

  #head(look: Look, isAway: boolean): string {
    const right = isAway ? 'server away, trying again' : howToLeave(this.#at.sight);
    const time = timeOfDay(look.now);
    const room = look.columns - 3 - width(right);
    const whole = `${time}  ${this.#at.name}`;
    const left = pad(width(whole) > room ? time : whole, room);
    return line([[left, 'bold'], ['  '], [right, isAway ? 'yellow' : 'dim']], look);
  }
}

interface Part {
  readonly title: string;
  readonly tasks: readonly TaskSummary[];
  readonly areChanges?: boolean;
}

function countLines({ live, ended, readySince }: OverviewReport, look: Look): string[] {
  const isNarrow = look.columns < 80;
  const counted = (name: Standing, count: number): Piece[] => {
    const [sign, colour] = standingSigns[name];
    const words = `${sign} ${count}${isNarrow ? '' : ` ${name}`}  `;
    return [[words, count > 0 ? colour : 'dim']];
  };
  const { running, queued, waiting } = live;
  const { completed, failed, cancelled, lost } = ended;
  const waited = readySince === null ? 0 : look.now - readySince;
  const untaken = `Work has been ready for ${age(waited)} and nobody takes it: is there a worker?`;
  return [
    line(
      [
        ['now        '],
        ...counted('running', running),
        ...counted('queued', queued),
        ...counted('waiting', waiting),
      ],
      look,
    ),
    line(
      [
        ['last hour  '],
        ...counted('completed', completed),
        ...counted('failed', failed),
        ...counted('cancelled', cancelled),
        ...counted('lost', lost),
      ],
      look,
    ),
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
  const idOf = shortIds([...new Set(parts.flatMap(({ tasks }) => tasks.map(({ id }) => id)))]);
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
