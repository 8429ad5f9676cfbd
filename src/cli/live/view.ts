/** What can be told of a call, and which view tells it: to a person at a terminal, the reader of a log, or a program. */

import { ReadStream, WriteStream } from 'node:tty';
import type { Question } from '../../client/asking.ts';
import type { JsonObject } from '../../model/json.ts';
import type { TaskUpdate } from '../../requestor/pursuit.ts';
import type { Visit } from './attend.ts';
import { JsonView, PlainView } from './plain-view.ts';
import { paintWith, wantsColours } from './terminal-text.ts';
import { TerminalView } from './terminal-view.ts';

export interface View {
  connecting(server: string): void;
  /** The call is written down. */
  called(call: { readonly id: string; readonly tool: string; readonly since: number }): void;
  /** The server made a task of it. */
  began(id: string, taskId: string): void;
  update(update: TaskUpdate): void;
  asked(question: Question): void;
  /** A sentence for people, which programs are not told. */
  say(text: string): void;
  /** For whoever wants nothing but the id. */
  handle(id: string): void;
  /** Nobody looks on any more. A server of our own ended too. */
  detached(id: string, comeBack: string, goesOn: boolean): void;
  result(id: string, result: JsonObject): void;
  failed(id: string | undefined, message: string, code?: number): void;
  /** Makes room for something else, and comes back. */
  pause(): void;
  resume(): void;
  /** Nothing more will be shown but how it ended. Once is enough; more does no harm. */
  end(how: 'completed' | 'failed' | 'left'): void;
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
