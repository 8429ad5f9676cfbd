/** The terminal: keys that are pressed, lines that are drawn again in place, and the whole screen. */
import type { ReadStream, WriteStream } from 'node:tty';
import { width } from './terminal-text.ts';

interface KeyListener {
  interrupted(): void;
  /** Any other key. */
  pressed?(key: string): void;
  /** Ctrl-Z: the shell is about to have the terminal for a while. */
  suspends?(): void;
}

/** Ctrl-C, as a key of a terminal whose keys do not echo, and as a signal; a second one ends everything at once. */
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
    if (this.#isInterrupted) process.exit(130);
    this.#isInterrupted = true;
    this.#listener.interrupted();
  };

  listen(): void {
    if (!this.#input || this.#isListening) return;
    this.#isListening = true;
    this.#input.setRawMode(true).on('data', this.#pressed).resume();
  }

  /** Leaves the keys to somebody else. */
  rest(): void {
    if (!this.#input || !this.#isListening) return;
    this.#isListening = false;
    this.#input.off('data', this.#pressed).pause().setRawMode(false);
  }

  close(): void {
    this.rest();
    process.off('SIGINT', this.interrupt).off('SIGTERM', ends).off('SIGHUP', ends);
  }

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

/** What was hidden is shown again on the way out. */
function ends(): void {
  process.exit(143);
}

const hideCursor = '\x1b[?25l';
const showCursor = '\x1b[?25h';
const otherBuffer = '\x1b[?1049h';
const firstBuffer = '\x1b[?1049l';

/** What is drawn in place hides the cursor, and shows it again however the process ends. */
class Drawing {
  protected readonly terminal: WriteStream;
  readonly #begin: string;
  readonly #end: string;
  #isBegun = false;
  readonly #onExit = () => this.terminal.write(this.#end);

  constructor(terminal: WriteStream, begin: string, end: string) {
    this.terminal = terminal;
    this.#begin = begin;
    this.#end = end;
  }

  get columns(): number {
    return this.terminal.columns || 80;
  }

  get rows(): number {
    return this.terminal.rows || 24;
  }

  protected begin(): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    process.once('exit', this.#onExit);
    this.terminal.write(this.#begin);
  }

  /** May be begun again by drawing. */
  leave(): void {
    if (!this.#isBegun) return;
    this.#isBegun = false;
    process.off('exit', this.#onExit);
    this.terminal.write(this.#end);
  }
}

/** Lines at the end of a terminal that are drawn again in place; messages go above them. */
export class Screen extends Drawing {
  /** The lines that stand there, and the cursor below them. */
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

  /** Above the lines, which are drawn again when there is news. */
  say(text: string): void {
    this.terminal.write(`${this.#toTheTop()}\x1b[J${text}\n`);
    this.#drawn = [];
  }

  /** Takes the lines away, and gives the cursor back. */
  release(): void {
    if (this.#drawn.length > 0) this.terminal.write(`${this.#toTheTop()}\x1b[J`);
    this.#drawn = [];
    this.leave();
  }

  /** A terminal that became narrower has broken lines in two. */
  #toTheTop(): string {
    const rowsOf = (line: string) => Math.max(1, Math.ceil(width(line) / this.columns));
    const rows = this.#drawn.reduce((rows, line) => rows + rowsOf(line), 0);
    return rows > 0 ? `\x1b[${rows}A\r` : '';
  }
}

/** The whole of a terminal, drawn again in place; afterwards it shows what it showed before. */
export class FullScreen extends Drawing {
  constructor(terminal: WriteStream) {
    super(terminal, `${otherBuffer}${hideCursor}`, `${showCursor}${firstBuffer}`);
  }

  /** The last row stays empty: what ends there would move everything up. */
  draw(lines: readonly string[]): void {
    this.begin();
    const text = lines
      .slice(0, this.rows - 1)
      .map((line) => `${line}\x1b[K\n`)
      .join('');
    this.terminal.write(`\x1b[H${text}\x1b[J`);
  }
}
