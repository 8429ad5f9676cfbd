/** The whole of a terminal, drawn again in place; whoever had it before finds it as it was. */
import type { WriteStream } from 'node:tty';

const enter = '\x1b[?1049h\x1b[?25l';
const leave = '\x1b[?25h\x1b[?1049l';

export class FullScreen {
  readonly #terminal: WriteStream;
  readonly #spell: (line: string) => string;
  #isEntered = false;
  readonly #onExit = () => this.#terminal.write(leave);

  constructor(terminal: WriteStream, spell: (line: string) => string) {
    this.#terminal = terminal;
    this.#spell = spell;
  }

  get columns(): number {
    return this.#terminal.columns || 80;
  }

  get rows(): number {
    return this.#terminal.rows || 24;
  }

  /** The last row stays empty: what ends there would move everything up. */
  draw(lines: readonly string[]): void {
    if (!this.#isEntered) {
      this.#isEntered = true;
      process.once('exit', this.#onExit);
      this.#terminal.write(enter);
    }
    const text = lines
      .slice(0, this.rows - 1)
      .map((line) => `${this.#spell(line)}\x1b[K\n`)
      .join('');
    this.#terminal.write(`\x1b[H${text}\x1b[J`);
  }

  /** May be entered again by drawing. */
  leave(): void {
    if (!this.#isEntered) return;
    this.#isEntered = false;
    process.off('exit', this.#onExit);
    this.#terminal.write(leave);
  }
}
