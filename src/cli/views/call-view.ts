/** Views of a call: live lines for a terminal, plain lines for logs and pipes, and JSON for programs. */

import { ReadStream, WriteStream } from 'node:tty';
import type { Question } from '../../client/questions/question-callback.ts';
import type { JsonObject } from '../../model/json.ts';
import { isOver } from '../../remote-tasks/remote-task.ts';
import type { TaskUpdate } from '../../remote-tasks/task-poller.ts';
import type { CallSession } from '../calls/follow-call.ts';
import { errorTextOf, printJson, printResult } from '../output.ts';
import { type Arguments, printError } from '../usage.ts';
import { clean, number, oneLine, paintWith, wantsColours } from './terminal-text.ts';
import { terminalView } from './terminal-view.ts';

/** A view omits the methods of events that it does not show. */
export interface View {
  connecting?(server: string): void;
  /** The call was saved in the registry. */
  called?(call: { readonly id: string; readonly tool: string; readonly since: number }): void;
  /** The server created a task for the call. */
  taskCreated(id: string, taskId: string): void;
  update(update: TaskUpdate): void;
  asked?(question: Question): void;
  /** Shows a message for people. Programs do not get it. */
  message?(text: string): void;
  /** Prints the id, for `--detach`. */
  handle?(id: string): void;
  /** The user left. `comeBack` is the command to resume; `what` describes how the task continues. */
  detached(id: string, comeBack: string, what: string): void;
  result(id: string, result: JsonObject): void;
  failed?(id: string | undefined, message: string, code?: number): void;
  /** Clears the live lines while something else uses the terminal. */
  pause?(): void;
  resume?(): void;
  /** Ends the live lines. Further calls have no effect. */
  end?(how: 'completed' | 'failed' | 'left'): void;
}

/** The options of all commands that have a view. */
export const viewOptions = {
  json: { type: 'boolean' },
  'no-color': { type: 'boolean' },
} as const;

/** The view for these options. Progress goes to stderr, so that stdout contains only the result. */
export function viewFor(
  values: Arguments<typeof viewOptions>['values'],
): Pick<CallSession, 'view' | 'terminal'> {
  if (values.json) return { view: jsonView, terminal: undefined };
  const { stdin, stderr } = process;
  if (!(stderr instanceof WriteStream) || process.env.TERM === 'dumb')
    return { view: plainView(), terminal: undefined };
  const paint = paintWith(wantsColours(values));
  const input = stdin instanceof ReadStream ? stdin : undefined;
  return { view: terminalView(stderr, paint), terminal: input && { input, output: stderr, paint } };
}

/**
 * Lines without control characters, for logs and pipes: progress goes to stderr, the result to stdout. A quiet view
 * prints no progress.
 */
export function plainView({ isQuiet = false }: { readonly isQuiet?: boolean } = {}): View {
  let rootId: string | undefined;
  let last = '';
  const print = (line: string) => {
    if (isQuiet || line === last) return;
    last = line;
    console.error(line);
  };
  const nameOf = (taskId: string) => (taskId === rootId ? '' : `${short(taskId)} `);
  return {
    taskCreated: (id, taskId) => {
      rootId = taskId;
      print(`task ${id}`);
    },
    update: (update) => {
      switch (update.type) {
        case 'status': {
          const { taskId, status, message } = update.task;
          // The result shows how the call itself ended.
          if (taskId === rootId && isOver(update.task)) return;
          return print(`${nameOf(taskId)}${status}${message === undefined ? '' : `: ${oneLine(message)}`}`);
        }
        case 'progress': {
          const { taskId, progress, total, message } = update;
          const of = total === undefined ? '' : ` of ${number(total)}`;
          const about = message === undefined ? '' : `: ${oneLine(message)}`;
          return print(`${nameOf(taskId)}${number(progress)}${of}${about}`);
        }
        case 'child':
          return print(`subtask ${short(update.taskId)}`);
        case 'interim':
          return print(clean(update.text));
        case 'unreachable':
          return print('Server unavailable; waiting.');
        case 'reachable':
          return print('Server available again.');
      }
    },
    message: (text) => console.error(text),
    handle: (id) => console.log(id),
    detached: (_, comeBack, what) => console.error(`Detached: ${what} Resume with: ${comeBack}`),
    result: (_, result) => printResult(result),
  };
}

function short(taskId: string): string {
  return oneLine(taskId).slice(0, 8);
}

/** One JSON object per line, for programs. */
export const jsonView: View = {
  called: ({ id, tool }) => printEvent('called', { id, tool }),
  taskCreated: (id, taskId) => printEvent('task', { id, taskId }),
  update: (update) => {
    const { type, ...rest } = update;
    // `asked` prints the question with all its details.
    if (update.type === 'question') return;
    if (update.type !== 'status') return printEvent(type, rest);
    const { taskId, status, message } = update.task;
    printEvent(type, { taskId, status, message });
  },
  asked: (question) => printEvent('question', question),
  detached: (id, comeBack) => printEvent('detached', { id, comeBack }),
  result: (id, result) => {
    printEvent('result', { id, result });
    // On stderr too, like other errors: a program reads stdout, and its log shows stderr.
    if (result.isError) printError({ message: oneLine(errorTextOf(result)) });
  },
  failed: (id, message, code) => printEvent('error', { id, message, code }),
};

function printEvent(event: string, about: object): void {
  printJson({ event, ...about });
}
