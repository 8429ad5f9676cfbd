/** What can be told of a call, and which view tells it: to a person at a terminal, the reader of a log, or a program. */

import { ReadStream, WriteStream } from 'node:tty';
import type { Question } from '../../client/asking.ts';
import type { JsonObject } from '../../model/json.ts';
import type { TaskUpdate } from '../../requestor/pursuit.ts';
import { isOver } from '../../requestor/remote-task.ts';
import { errorTextOf, printJson, printResult } from '../output.ts';
import { say } from '../usage.ts';
import type { Visit } from './attend.ts';
import { clean, number, oneLine, paintWith, wantsColours } from './terminal-text.ts';
import { TerminalView } from './terminal-view.ts';

/** What a view has nothing to say of it need not have a method for. */
export interface View {
  connecting?(server: string): void;
  /** The call is written down. */
  called?(call: { readonly id: string; readonly tool: string; readonly since: number }): void;
  /** The server made a task of it. */
  began(id: string, taskId: string): void;
  update(update: TaskUpdate): void;
  asked?(question: Question): void;
  /** A sentence for people, which programs are not told. */
  say?(text: string): void;
  /** For whoever wants nothing but the id. */
  handle?(id: string): void;
  /** Nobody looks on any more; `what` becomes of the task is said to people. */
  detached(id: string, comeBack: string, what: string): void;
  result(id: string, result: JsonObject): void;
  failed?(id: string | undefined, message: string, code?: number): void;
  /** Makes room for something else, and comes back. */
  pause?(): void;
  resume?(): void;
  /** Nothing more will be shown but how it ended. Once is enough; more does no harm. */
  end?(how: 'completed' | 'failed' | 'left'): void;
}

/** The options of all commands that have a view. */
export const viewOptions = {
  json: { type: 'boolean' },
  'no-color': { type: 'boolean' },
} as const;

/** What happens is told on stderr, so that stdout has the result and nothing else. */
export function lookOn(values: {
  readonly json?: boolean;
  readonly 'no-color'?: boolean;
}): Pick<Visit, 'view' | 'desk'> {
  if (values.json) return { view: new JsonView(), desk: undefined };
  const { stdin, stderr } = process;
  if (!(stderr instanceof WriteStream) || process.env.TERM === 'dumb')
    return { view: new PlainView(), desk: undefined };
  const paint = paintWith(wantsColours(values['no-color'] ?? false));
  const input = stdin instanceof ReadStream ? stdin : undefined;
  return {
    view: new TerminalView(stderr, paint),
    desk: input && { input, output: stderr, paint },
  };
}

/** Lines without any control characters, for logs and pipes: what happens to stderr, the result to stdout. */
export class PlainView implements View {
  /** Only the result is told. */
  readonly #isQuiet: boolean;
  #rootId: string | undefined;
  #last = '';

  constructor({ isQuiet = false }: { readonly isQuiet?: boolean } = {}) {
    this.#isQuiet = isQuiet;
  }

  began(id: string, taskId: string): void {
    this.#rootId = taskId;
    this.#tell(`task ${id}`);
  }

  update(update: TaskUpdate): void {
    switch (update.type) {
      case 'status': {
        const { taskId, status, message } = update.task;
        // How the call itself ended is told by its result.
        if (taskId === this.#rootId && isOver(update.task)) return;
        this.#tell(`${this.#nameOf(taskId)}${status}${message === undefined ? '' : `: ${oneLine(message)}`}`);
        return;
      }
      case 'progress': {
        const { taskId, progress, total, message } = update;
        const of = total === undefined ? '' : ` of ${number(total)}`;
        const about = message === undefined ? '' : `: ${oneLine(message)}`;
        this.#tell(`${this.#nameOf(taskId)}${number(progress)}${of}${about}`);
        return;
      }
      case 'child':
        this.#tell(`subtask ${short(update.taskId)}`);
        return;
      case 'interim':
        this.#tell(clean(update.text));
        return;
      case 'unreachable':
        this.#tell('The server is away; waiting.');
        return;
      case 'reachable':
        this.#tell('The server is back.');
    }
  }

  say(text: string): void {
    console.error(text);
  }

  handle(id: string): void {
    console.log(id);
  }

  detached(_: string, comeBack: string, what: string): void {
    console.error(`Detached: ${what} Come back with: ${comeBack}`);
  }

  result(_: string, result: JsonObject): void {
    printResult(result);
  }

  #nameOf(taskId: string): string {
    return taskId === this.#rootId ? '' : `${short(taskId)} `;
  }

  #tell(line: string): void {
    if (this.#isQuiet || line === this.#last) return;
    this.#last = line;
    console.error(line);
  }
}

function short(taskId: string): string {
  return oneLine(taskId).slice(0, 8);
}

/** One JSON object per line, for programs. */
export class JsonView implements View {
  called({ id, tool }: { id: string; tool: string }): void {
    print('called', { id, tool });
  }

  began(id: string, taskId: string): void {
    print('task', { id, taskId });
  }

  update(update: TaskUpdate): void {
    const { type, ...rest } = update;
    // The question itself is told when it is put, with all that is known of it.
    if (update.type === 'question') return;
    if (update.type !== 'status') return print(type, rest);
    const { taskId, status, message } = update.task;
    print(type, { taskId, status, message });
  }

  asked(question: Question): void {
    print('question', question);
  }

  detached(id: string, comeBack: string): void {
    print('detached', { id, comeBack });
  }

  result(id: string, result: JsonObject): void {
    print('result', { id, result });
    // As other errors: a program reads stdout, and whoever reads its log sees why it failed.
    if (result.isError) say({ message: oneLine(errorTextOf(result)) });
  }

  failed(id: string | undefined, message: string, code?: number): void {
    print('error', { id, message, code });
  }
}

function print(event: string, about: object): void {
  printJson({ event, ...about });
}
