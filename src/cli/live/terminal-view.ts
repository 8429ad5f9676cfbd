/** Live lines in a terminal. */
import type { WriteStream } from 'node:tty';
import type { Question } from '../../client/asking.ts';
import type { JsonObject } from '../../model/json.ts';
import { runtime, type Timer } from '../../model/runtime.ts';
import type { TaskUpdate } from '../../requestor/pursuit.ts';
import { printResult } from '../output.ts';
import { clock } from '../time.ts';
import { frameMs, TaskLines, whatBecomesOfIt } from './lines.ts';
import { Screen } from './terminal.ts';
import { clean, oneLine, type Paint, truncate, wrap } from './terminal-text.ts';
import type { View } from './view.ts';

export class TerminalView implements View {
  readonly #screen: Screen;
  readonly #paint: Paint;
  #lines: TaskLines | undefined;
  #tool = '';
  #since = 0;
  #timer: Timer | undefined;
  /** Each time as wide as the terminal is by then. */
  readonly #draw = () => {
    const { columns, rows } = this.#screen;
    if (this.#lines && this.#timer)
      this.#screen.draw(
        this.#lines.render({ columns, rows: rows - 1, now: runtime.now(), paint: this.#paint }),
      );
  };

  constructor(terminal: WriteStream, paint: Paint) {
    this.#screen = new Screen(terminal);
    this.#paint = paint;
  }

  connecting(server: string): void {
    this.#lines = new TaskLines(`Connecting to ${server}`, runtime.now());
    this.resume();
  }

  called({ tool, since }: { tool: string; since: number }): void {
    this.#tool = oneLine(tool);
    this.#since = since;
    this.#lines = new TaskLines(tool, since);
    this.resume();
  }

  began(_: string, taskId: string): void {
    this.#lines?.begin(taskId);
  }

  update(update: TaskUpdate): void {
    if (update.type === 'interim') this.say(clean(update.text));
    this.#lines?.update(update, runtime.now());
  }

  /** It is put to whoever sits there. */
  asked(_: Question): void {}

  say(text: string): void {
    for (const line of wrap(text, this.#screen.columns - 1)) this.#screen.say(line);
    this.#draw();
  }

  handle(id: string): void {
    console.log(id);
  }

  detached(_: string, comeBack: string, goesOn: boolean): void {
    this.say(`Detached: ${whatBecomesOfIt(goesOn)} Come back with:`);
    this.#screen.say(`  ${comeBack}`);
  }

  result(_: string, result: JsonObject): void {
    printResult(result);
  }

  failed(): void {}

  pause(): void {
    runtime.clearInterval(this.#timer);
    this.#timer = undefined;
    this.#screen.release();
  }

  resume(): void {
    this.#timer ??= runtime.setInterval(this.#draw, frameMs);
    this.#draw();
  }

  /** One line stays of the tree: what it was and how long it took. */
  end(how: 'completed' | 'failed' | 'left'): void {
    this.pause();
    const wasCalled = this.#lines !== undefined && this.#tool !== '';
    this.#lines = undefined;
    if (how === 'left' || !wasCalled) return;
    const mark = how === 'completed' ? this.#paint('green', '✔') : this.#paint('red', '✖');
    const time = clock(runtime.now() - this.#since);
    const tool = truncate(this.#tool, this.#screen.columns - time.length - 4);
    this.#screen.say(`${mark} ${this.#paint('bold', tool)} ${this.#paint('dim', time)}`);
  }
}
