/** One JSON object per line, for programs. */

import type { Question } from '../../client/asking.ts';
import type { JsonObject } from '../../model/json.ts';
import type { TaskUpdate } from '../../requestor/pursuit.ts';
import { printJson } from '../json-line.ts';
import { errorTextOf } from '../result-text.ts';
import { say } from '../usage.ts';
import type { View } from './view.ts';
import { oneLine } from './width.ts';

export class JsonView implements View {
  connecting(): void {}

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

  say(): void {}

  handle(): void {}

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

  pause(): void {}
  resume(): void {}
  end(): void {}
}

function print(event: string, about: object): void {
  printJson({ event, ...about });
}
