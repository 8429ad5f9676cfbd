/** Lines without any control characters, for logs and pipes: what happens to stderr, the result to stdout. */
import type { Question } from '../../client/asking.ts';
import type { JsonObject } from '../../model/json.ts';
import type { TaskUpdate } from '../../requestor/pursuit.ts';
import { isOver } from '../../requestor/remote-task.ts';
import { errorTextOf, printJson, printResult } from '../output.ts';
import { say } from '../usage.ts';
import { number, whatBecomesOfIt } from './lines.ts';
import { clean, oneLine } from './terminal-text.ts';
import type { View } from './view.ts';

export class PlainView implements View {
  /** Only the result is told. */
  readonly #isQuiet: boolean;
  #rootId: string | undefined;
  #last = '';

  constructor({ isQuiet = false }: { readonly isQuiet?: boolean } = {}) {
    this.#isQuiet = isQuiet;
  }

  connecting(): void {}
  called(): void {}

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

  /** The sentence that the command ends with says it. */
  asked(_: Question): void {}

  say(text: string): void {
    console.error(text);
  }

  handle(id: string): void {
    console.log(id);
  }

  detached(_: string, comeBack: string, goesOn: boolean): void {
    console.error(`Detached: ${whatBecomesOfIt(goesOn)} Come back with: ${comeBack}`);
  }

  result(_: string, result: JsonObject): void {
    printResult(result);
  }

  failed(): void {}
  pause(): void {}
  resume(): void {}
  end(): void {}

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
