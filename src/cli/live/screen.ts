/** Lines at the end of a terminal that are drawn again in place; what is said meanwhile goes above them. */
import type { WriteStream } from 'node:tty';
import { width } from './width.ts';

const hideCursor = '\x1b[?25l';
const showCursor = '\x1b[?25h';

export class Screen {
  readonly #terminal: WriteStream;
  /** The lines that stand there, and the cursor below them. */
  #drawn: readonly string[] = [];
  #isHidden = false;
  readonly #onExit = () => this.#terminal.write(showCursor);

  constructor(terminal: WriteStream) {
    this.#terminal = terminal;
  }

  get columns(): number {
    return this.#terminal.columns || 80;
  }

  get rows(): number {
    return this.#terminal.rows || 24;
  }

  draw(lines: readonly string[]): void {
    if (!this.#isHidden) {
      this.#isHidden = true;
      this.#terminal.write(hideCursor);
      process.once('exit', this.#onExit);
    }
    const text = lines.map((line) => `${line}\x1b[K\n`).join('');
    this.#terminal.write(`${this.#toTheTop()}${text}\x1b[J`);
    this.#drawn = lines;
  }

  /** Above the lines, which are drawn again when there is news. */
  say(text: string): void {
    this.#terminal.write(`${this.#toTheTop()}\x1b[J${text}\n`);
    this.#drawn = [];
  }

  /** Leaves the lines where they are, or takes them away, and gives the cursor back. */
  release({ keep = false }: { readonly keep?: boolean } = {}): void {
    if (!keep && this.#drawn.length > 0) this.#terminal.write(`${this.#toTheTop()}\x1b[J`);
    this.#drawn = [];
    if (!this.#isHidden) return;
    this.#isHidden = false;
    process.off('exit', this.#onExit);
    this.#terminal.write(showCursor);
  }

  /** A terminal that became narrower has broken lines in two. */
  #toTheTop(): string {
    const rows = this.#drawn.reduce(
      (rows, line) => rows + Math.max(1, Math.ceil(width(line) / this.columns)),
      0,
    );
    return rows > 0 ? `\x1b[${rows}A\r` : '';
  }
}
