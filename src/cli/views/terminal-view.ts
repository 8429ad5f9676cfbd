/** Live lines in a terminal, one for each task of a tree. */
import type { WriteStream } from 'node:tty';
import { isOver, type RemoteProgress, type RemoteStatus } from '../../remote-tasks/remote-task.ts';
import type { TaskUpdate } from '../../remote-tasks/task-poller.ts';
import { runtime, type Timer } from '../../runtime/runtime.ts';
import { printResult } from '../output.ts';
import { clock } from '../time.ts';
import type { View } from './call-view.ts';
import { Screen } from './terminal.ts';
import {
  type Colour,
  clean,
  line,
  number,
  oneLine,
  type Paint,
  type Piece,
  truncate,
  wrap,
} from './terminal-text.ts';

export function terminalView(terminal: WriteStream, paint: Paint): View {
  const screen = new Screen(terminal);
  let lines: TaskLines | undefined;
  let tool = '';
  let since = 0;
  let timer: Timer | undefined;
  const draw = () => {
    const { columns, rows } = screen;
    if (lines && timer) screen.draw(lines.render({ columns, rows: rows - 1, now: runtime.now(), paint }));
  };
  const message = (text: string) => {
    for (const line of wrap(text, screen.columns - 1)) screen.printAbove(line);
    draw();
  };
  const pause = () => {
    runtime.clearInterval(timer);
    timer = undefined;
    screen.release();
  };
  const resume = () => {
    timer ??= runtime.setInterval(draw, frameMs);
    draw();
  };
  return {
    connecting: (server) => {
      lines = new TaskLines(`Connecting to ${server}`, runtime.now());
      resume();
    },
    called: (call) => {
      tool = oneLine(call.tool);
      since = call.since;
      lines = new TaskLines(tool, since);
      resume();
    },
    taskCreated: (_, taskId) => lines?.setRoot(taskId),
    update: (update) => {
      if (update.type === 'interim') message(clean(update.text));
      lines?.update(update, runtime.now());
    },
    message,
    handle: (id) => console.log(id),
    detached: (_, comeBack, what) => {
      message(`Detached: ${what} Resume with:`);
      screen.printAbove(`  ${comeBack}`);
    },
    result: (_, result) => printResult(result),
    pause,
    resume,
    /** Leaves one line, the tool and the duration, unless the user left. */
    end: (how) => {
      pause();
      const wasCalled = lines !== undefined && tool !== '';
      lines = undefined;
      if (how === 'left' || !wasCalled) return;
      const mark = how === 'completed' ? paint('green', '✔') : paint('red', '✖');
      const time = clock(runtime.now() - since);
      const shown = truncate(tool, screen.columns - time.length - 4);
      screen.printAbove(`${mark} ${paint('bold', shown)} ${paint('dim', time)}`);
    },
  };
}

// --- The lines ----------------------------------------------------------------------------------------------

interface Shown {
  readonly label: string;
  readonly depth: number;
  readonly since: number;
  until?: number;
  status: RemoteStatus;
  message?: string | undefined;
  progress?: RemoteProgress;
}

interface Frame {
  readonly columns: number;
  /** The maximum number of lines. */
  readonly rows: number;
  readonly now: number;
  readonly paint: Paint;
}

const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/** The time between two drawings. */
const frameMs = 100;

/** The sign of each status. Other statuses have the spinner. */
const marks: Readonly<Partial<Record<RemoteStatus, readonly [string, Colour]>>> = {
  input_required: ['?', 'yellow'],
  completed: ['✔', 'green'],
  failed: ['✖', 'red'],
  cancelled: ['✖', 'red'],
  unknown: ['✖', 'red'],
};

/** Shown if the task has no message of its own. */
const statusTexts: Readonly<Partial<Record<RemoteStatus, string>>> = {
  submitted: 'starting',
  input_required: 'waiting for an answer',
  failed: 'failed',
  cancelled: 'cancelled',
  unknown: 'lost',
};

class TaskLines {
  readonly #root: Shown;
  /** By id, in the order in which they became known. */
  readonly #tasks = new Map<string, Shown>();
  readonly #children = new Map<string, string[]>();
  #rootId: string | undefined;
  #isUnavailable = false;

  constructor(label: string, since: number) {
    this.#root = { label: oneLine(label), depth: 0, since, status: 'working' };
  }

  /** To be called once the server has created the task. */
  setRoot(taskId: string): void {
    this.#rootId = taskId;
    this.#tasks.set(taskId, this.#root);
  }

  update(update: TaskUpdate, now: number): void {
    if (update.type === 'unreachable' || update.type === 'reachable') {
      this.#isUnavailable = update.type === 'unreachable';
    } else if (update.type === 'child') {
      const { taskId, parentId } = update;
      const depth = (this.#tasks.get(parentId)?.depth ?? 0) + 1;
      this.#tasks.set(taskId, { label: oneLine(taskId).slice(0, 8), depth, since: now, status: 'working' });
      this.#children.set(parentId, [...(this.#children.get(parentId) ?? []), taskId]);
    } else if (update.type === 'status') {
      const shown = this.#tasks.get(update.task.taskId);
      if (!shown) return;
      shown.status = update.task.status;
      shown.message = update.task.message;
      if (isOver(shown)) shown.until ??= now;
    } else if (update.type === 'progress') {
      const shown = this.#tasks.get(update.taskId);
      if (shown) shown.progress = update;
    }
  }

  render(frame: Frame): string[] {
    const shown = this.#rootId === undefined ? [this.#root] : [...this.#below(this.#rootId)];
    const room = Math.max(1, frame.rows);
    if (shown.length <= room) return shown.map((task) => this.#line(task, frame));
    // Unfinished tasks are kept first: they are what people look for. Two rows are for the root and the number of
    // hidden tasks.
    const [root, ...rest] = shown as [Shown, ...Shown[]];
    const byInterest = [...rest.filter((task) => !isOver(task)), ...rest.filter(isOver)];
    const kept = new Set(byInterest.slice(0, Math.max(0, room - 2)));
    const hidden = rest.filter((task) => !kept.has(task));
    const finished = hidden.filter(isOver).length;
    const more = `  … ${hidden.length} more, ${finished} finished`;
    return [
      ...[root, ...rest.filter((task) => kept.has(task))].map((task) => this.#line(task, frame)),
      ...(room > 1 ? [frame.paint('dim', truncate(more, frame.columns - 1))] : []),
    ];
  }

  /** A task and its whole subtree, each task before its subtasks. */
  *#below(taskId: string): Iterable<Shown> {
    yield this.#tasks.get(taskId)!;
    for (const child of this.#children.get(taskId) ?? []) yield* this.#below(child);
  }

  #line(task: Shown, frame: Frame): string {
    const { columns, now } = frame;
    const spin = spinner[Math.floor(now / frameMs) % spinner.length]!;
    const [mark, colour] = marks[task.status] ?? [spin, 'cyan'];
    const isUnavailable = this.#isUnavailable && !isOver(task) && task.depth === 0;
    const parts: Piece[] = [
      ['  '.repeat(Math.min(task.depth, 6))],
      [isUnavailable ? '!' : mark, isUnavailable ? 'yellow' : colour],
      [' '],
      [task.label, 'bold'],
      ...barOf(task, columns),
      [` ${clock((task.until ?? now) - task.since)}`, 'dim'],
    ];
    const text = isUnavailable ? 'Server unavailable; waiting.' : textOf(task);
    if (text !== '') parts.push([` ${text}`]);
    return line(parts, frame);
  }
}

function textOf({ message, progress, status }: Shown): string {
  const text = status === 'working' ? (progress?.message ?? message) : (message ?? progress?.message);
  return oneLine(text ?? statusTexts[status] ?? '');
}

/** A bar if the total is known, otherwise a number. */
function barOf({ progress, status }: Shown, columns: number): Piece[] {
  if (!progress || status === 'completed') return [];
  const { progress: done, total } = progress;
  if (total === undefined || !(total > 0)) return [[` ${number(done)}`]];
  const room = columns >= 80 ? 20 : columns >= 60 ? 12 : 6;
  const full = Math.round(Math.max(0, Math.min(1, done / total)) * room);
  return [
    [' '],
    ['█'.repeat(full), 'cyan'],
    ['░'.repeat(room - full), 'dim'],
    [` ${number(done)}/${number(total)}`],
  ];
}
