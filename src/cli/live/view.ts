/** What can be told of a call, whoever looks: a person at a terminal, the reader of a log, a program. */
import type { Question } from '../../client/asking.ts';
import type { JsonObject } from '../../model/json.ts';
import type { TaskUpdate } from '../../requestor/pursuit.ts';

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

export function whatBecomesOfIt(goesOn: boolean): string {
  return goesOn
    ? 'the task goes on.'
    : 'the server ended with this command, and goes on when it is started again.';
}
