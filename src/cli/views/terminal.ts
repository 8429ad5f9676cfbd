/** The terminal: key presses, lines that are redrawn in place, and the full screen. */
import type { ReadStream, WriteStream } from 'node:tty';
import { width } from './terminal-text.ts';

interface KeyListener {
  interrupted(): void;
  /** Called with any other key. */
  pressed?(key: string): void;
  /** Ctrl-Z was pressed: the shell is about to use the terminal. */
  suspends?(): void;
}

/** Key presses in raw mode, and Ctrl-C as a key or a signal. A second Ctrl-C exits at once. */
export class Keys {
  readonly #input: ReadStream | undefined;
  readonly #listener: KeyListener;
  #isInterrupted = false;
  #isListening = false;

  constructor(input: ReadStream | undefined, listener: KeyListener) {
    this.#input = input;
    this.#listener = listener;
    process.on('SIGINT', this.interrupt);
    process.once('SIGTERM', ends).once('SIGHUP', ends);
  }

  readonly interrupt = (): void => {
    // 128 and the number of SIGINT.
    if (this.#isInterrupted) process.exit(130);
    this.#isInterrupted = true;
    this.#listener.interrupted();
  };

  listen(): void {
    if (!this.#input || this.#isListening) return;
    this.#isListening = true;
    this.#input.setRawMode(true).on('data', this.#pressed).resume();
  }

  /** Stops reading keys, so that something else can read them. */
  rest(): void {
    if (!this.#input || !this.#isListening) return;
    this.#isListening = false;
    this.#input.off('data', this.#pressed).pause().setRawMode(false);
  }

  close(): void {
    this.rest();
    process.off('SIGINT', this.interrupt).off('SIGTERM', ends).off('SIGHUP', ends);
  }

  /** Handles keys: 0x03 is Ctrl-C, and 0x1a is Ctrl-Z. */
  readonly #pressed = (keys: Buffer): void => {
    for (const key of keys)
      if (key === 0x03) this.interrupt();
      else if (key === 0x1a) this.#suspend();
      else this.#listener.pressed?.(String.fromCharCode(key));
  };

  #suspend(): void {
    this.rest();
    this.#listener.suspends?.();
    process.once('SIGCONT', () => this.listen());
    process.kill(process.pid, 'SIGTSTP');
  }
}

/** Exits normally, so that exit listeners restore the cursor. */
function ends(): void {
  // 128 and the number of SIGTERM.
  process.exit(143);
}

const hideCursor = '\x1b[?25l';
const showCursor = '\x1b[?25h';
/** Switches to the alternate screen, which programs in full screen use. */
const otherBuffer = '\x1b[?1049h';
const firstBuffer = '\x1b[?1049l';

/** Hides the cursor while it draws in place, and shows it again however the process ends. */
class Drawing {
  protected readonly terminal: WriteStream;
  readonly #startSequence: string;
  readonly #endSequence: string;
  #isActive = false;
  readonly #onExit = () => this.terminal.write(this.#endSequence);

  constructor(terminal: WriteStream, begin: string, end: string) {
    this.terminal = terminal;
    this.#startSequence = begin;
    this.#endSequence = end;
  }

  get columns(): number {
    return this.terminal.columns || 80;
  }

  get rows(): number {
    return this.terminal.rows || 24;
  }

  protected begin(): void {
    if (this.#isActive) return;
    this.#isActive = true;
    process.once('exit', this.#onExit);
    this.terminal.write(this.#startSequence);
  }

  /** Stops drawing in place, and shows the cursor. The next `draw` starts again. */
  leave(): void {
    if (!this.#isActive) return;
    this.#isActive = false;
    process.off('exit', this.#onExit);
    this.terminal.write(this.#endSequence);
  }
}

/** Lines at the end of a terminal that are redrawn in place; messages go above them. */
export class Screen extends Drawing {
  /** The drawn lines. The cursor is below them. */
  #drawn: readonly string[] = [];

  constructor(terminal: WriteStream) {
    super(terminal, hideCursor, showCursor);
  }

  draw(lines: readonly string[]): void {
    this.begin();
    const text = lines.map((line) => `${line}\x1b[K\n`).join('');
    this.terminal.write(`${this.#toTheTop()}${text}\x1b[J`);
    this.#drawn = lines;
  }

  /** Prints above the lines. The next draw restores the lines. */
  printAbove(text: string): void {
    this.terminal.write(`${this.#toTheTop()}\x1b[J${text}\n`);
    this.#drawn = [];
  }

  /** Removes the lines and shows the cursor. */
  release(): void {
    if (this.#drawn.length > 0) this.terminal.write(`${this.#toTheTop()}\x1b[J`);
    this.#drawn = [];
    this.leave();
  }

  /** Counts wrapped lines, because the terminal may have become narrower. */
  #toTheTop(): string {
    const rowsOf = (line: string) => Math.max(1, Math.ceil(width(line) / this.columns));
    const rows = this.#drawn.reduce((rows, line) => rows + rowsOf(line), 0);
    return rows > 0 ? `\x1b[${rows}A\r` : '';
  }
}

/** The full screen, redrawn in place. Leaving restores the previous content. */
export class FullScreen extends Drawing {
  constructor(terminal: WriteStream) {
    super(terminal, `${otherBuffer}${hideCursor}`, `${showCursor}${firstBuffer}`);
  }

  /** Leaves the last row empty, because a line break there would scroll the screen. */
  draw(lines: readonly string[]): void {
    this.begin();
    const text = lines
      .slice(0, this.rows - 1)
      .map((line) => `${line}\x1b[K\n`)
      .join('');
    this.terminal.write(`\x1b[H${text}\x1b[J`);
  }
}
