/** What can be told of a call, and which view tells it: to a person at a terminal, the reader of a log, or a program. */

import { ReadStream, WriteStream } from 'node:tty';
import type { Question } from '../../client/questions/question-callback.ts';
import type { JsonObject } from '../../model/json.ts';
import { isOver } from '../../remote-tasks/remote-task.ts';
import type { TaskUpdate } from '../../remote-tasks/task-poller.ts';
import type { Visit } from '../calls/follow-call.ts';
import { errorTextOf, printJson, printResult } from '../output.ts';
import { type Arguments, say } from '../usage.ts';
import { clean, number, oneLine, paintWith, wantsColours } from './terminal-text.ts';
import { terminalView } from './terminal-view.ts';

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
export function lookOn(values: Arguments<typeof viewOptions>['values']): Pick<Visit, 'view' | 'desk'> {
  if (values.json) return { view: jsonView, desk: undefined };
  const { stdin, stderr } = process;
  if (!(stderr instanceof WriteStream) || process.env.TERM === 'dumb')
    return { view: plainView(), desk: undefined };
  const paint = paintWith(wantsColours(values));
  const input = stdin instanceof ReadStream ? stdin : undefined;
  return { view: terminalView(stderr, paint), desk: input && { input, output: stderr, paint } };
}

/**
 * Lines without any control characters, for logs and pipes: what happens to stderr, the result to stdout. Only the
 * result is told if it is to be quiet.
 */
export function plainView({ isQuiet = false }: { readonly isQuiet?: boolean } = {}): View {
  let rootId: string | undefined;
  let last = '';
  const tell = (line: string) => {
    if (isQuiet || line === last) return;
    last = line;
    console.error(line);
  };
  const nameOf = (taskId: string) => (taskId === rootId ? '' : `${short(taskId)} `);
  return {
    began: (id, taskId) => {
      rootId = taskId;
      tell(`task ${id}`);
    },
    update: (update) => {
      switch (update.type) {
        case 'status': {
          const { taskId, status, message } = update.task;
          // How the call itself ended is told by its result.
          if (taskId === rootId && isOver(update.task)) return;
          return tell(`${nameOf(taskId)}${status}${message === undefined ? '' : `: ${oneLine(message)}`}`);
        }
        case 'progress': {
          const { taskId, progress, total, message } = update;
          const of = total === undefined ? '' : ` of ${number(total)}`;
          const about = message === undefined ? '' : `: ${oneLine(message)}`;
          return tell(`${nameOf(taskId)}${number(progress)}${of}${about}`);
        }
        case 'child':
          return tell(`subtask ${short(update.taskId)}`);
        case 'interim':
          return tell(clean(update.text));
        case 'unreachable':
          return tell('The server is away; waiting.');
        case 'reachable':
          return tell('The server is back.');
      }
    },
    say: (text) => console.error(text),
    handle: (id) => console.log(id),
    detached: (_, comeBack, what) => console.error(`Detached: ${what} Come back with: ${comeBack}`),
    result: (_, result) => printResult(result),
  };
}

function short(taskId: string): string {
  return oneLine(taskId).slice(0, 8);
}

/** One JSON object per line, for programs. */
export const jsonView: View = {
  called: ({ id, tool }) => print('called', { id, tool }),
  began: (id, taskId) => print('task', { id, taskId }),
  update: (update) => {
    const { type, ...rest } = update;
    // The question itself is told when it is put, with all that is known of it.
    if (update.type === 'question') return;
    if (update.type !== 'status') return print(type, rest);
    const { taskId, status, message } = update.task;
    print(type, { taskId, status, message });
  },
  asked: (question) => print('question', question),
  detached: (id, comeBack) => print('detached', { id, comeBack }),
  result: (id, result) => {
    print('result', { id, result });
    // As other errors: a program reads stdout, and its log shows why it failed.
    if (result.isError) say({ message: oneLine(errorTextOf(result)) });
  },
  failed: (id, message, code) => print('error', { id, message, code }),
};

function print(event: string, about: object): void {
  printJson({ event, ...about });
}
