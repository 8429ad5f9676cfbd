/** Live lines in a terminal: a task and its subtasks, one each. */
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
  /** Each time as wide as the terminal is by then. */
  const draw = () => {
    const { columns, rows } = screen;
    if (lines && timer) screen.draw(lines.render({ columns, rows: rows - 1, now: runtime.now(), paint }));
  };
  const say = (text: string) => {
    for (const line of wrap(text, screen.columns - 1)) screen.say(line);
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
    began: (_, taskId) => lines?.begin(taskId),
    update: (update) => {
      if (update.type === 'interim') say(clean(update.text));
      lines?.update(update, runtime.now());
    },
    say,
    handle: (id) => console.log(id),
    detached: (_, comeBack, what) => {
      say(`Detached: ${what} Come back with:`);
      screen.say(`  ${comeBack}`);
    },
    result: (_, result) => printResult(result),
    pause,
    resume,
    /** One line stays of the tree: what it was and how long it took. */
    end: (how) => {
      pause();
      const wasCalled = lines !== undefined && tool !== '';
      lines = undefined;
      if (how === 'left' || !wasCalled) return;
      const mark = how === 'completed' ? paint('green', '✔') : paint('red', '✖');
      const time = clock(runtime.now() - since);
      const shown = truncate(tool, screen.columns - time.length - 4);
      screen.say(`${mark} ${paint('bold', shown)} ${paint('dim', time)}`);
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
  /** At most so many lines. */
  readonly rows: number;
  readonly now: number;
  readonly paint: Paint;
}

const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameMs = 100;

const marks: Readonly<Partial<Record<RemoteStatus, readonly [string, Colour]>>> = {
  input_required: ['?', 'yellow'],
  completed: ['✔', 'green'],
  failed: ['✖', 'red'],
  cancelled: ['✖', 'red'],
  unknown: ['✖', 'red'],
};

/** What a status says where the task itself says nothing. */
const words: Readonly<Partial<Record<RemoteStatus, string>>> = {
  submitted: 'is about to begin',
  input_required: 'waits for an answer',
  failed: 'failed',
  cancelled: 'cancelled',
  unknown: 'lost',
};

class TaskLines {
  readonly #root: Shown;
  /** In the order of the tree: each below its parent. */
  readonly #tasks = new Map<string, Shown>();
  readonly #children = new Map<string, string[]>();
  #rootId: string | undefined;
  #isAway = false;

  constructor(label: string, since: number) {
    this.#root = { label: oneLine(label), depth: 0, since, status: 'working' };
  }

  /** From here on the server has a name for it. */
  begin(taskId: string): void {
    this.#rootId = taskId;
    this.#tasks.set(taskId, this.#root);
  }

  update(update: TaskUpdate, now: number): void {
    if (update.type === 'unreachable' || update.type === 'reachable') {
      this.#isAway = update.type === 'unreachable';
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
    // People look for what still runs.
    const [root, ...rest] = shown as [Shown, ...Shown[]];
    const byInterest = [...rest.filter((task) => !isOver(task)), ...rest.filter(isOver)];
    const kept = new Set(byInterest.slice(0, Math.max(0, room - 2)));
    const hidden = rest.filter((task) => !kept.has(task));
    const over = hidden.filter(isOver).length;
    const more = `  … ${hidden.length} more, ${over} of them over`;
    return [
      ...[root, ...rest.filter((task) => kept.has(task))].map((task) => this.#line(task, frame)),
      ...(room > 1 ? [frame.paint('dim', truncate(more, frame.columns - 1))] : []),
    ];
  }

  *#below(taskId: string): Iterable<Shown> {
    yield this.#tasks.get(taskId)!;
    for (const child of this.#children.get(taskId) ?? []) yield* this.#below(child);
  }

  #line(task: Shown, frame: Frame): string {
    const { columns, now } = frame;
    const spin = spinner[Math.floor(now / frameMs) % spinner.length]!;
    const [mark, colour] = marks[task.status] ?? [spin, 'cyan'];
    const isAway = this.#isAway && !isOver(task) && task.depth === 0;
    const parts: Piece[] = [
      ['  '.repeat(Math.min(task.depth, 6))],
      [isAway ? '!' : mark, isAway ? 'yellow' : colour],
      [' '],
      [task.label, 'bold'],
      ...barOf(task, columns),
      [` ${clock((task.until ?? now) - task.since)}`, 'dim'],
    ];
    const text = isAway ? 'The server is away; waiting.' : textOf(task);
    if (text !== '') parts.push([` ${text}`]);
    return line(parts, frame);
  }
}

function textOf({ message, progress, status }: Shown): string {
  const said = status === 'working' ? (progress?.message ?? message) : (message ?? progress?.message);
  return oneLine(said ?? words[status] ?? '');
}

/** Progress with a total is a bar, without one a number. */
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
