/** An emulated terminal. Throws if the command writes control sequences that it does not need. */
import headless from '@xterm/headless';

const esc = '\x1b';
/** Cursor movement, erasing, colours, cursor visibility, the alternate screen, and Readline's bracketed paste. */
const sequence = new RegExp(`${esc}\\[(?:\\d*[ABCDGJK]|H|([\\d;]*)m|\\?(?:25([hl])|(?:1049|2004)[hl]))`, 'g');
const unfinished = new RegExp(`(?:${esc}(?:\\[[\\d;?]*)?)?$`);
const ringOrNewLine = '\x07\r\n';

export class Screen {
  readonly #terminal: InstanceType<typeof headless.Terminal>;
  readonly colours = new Set<string>();
  isCursorShown = true;
  #held = '';

  constructor(columns: number, rows: number) {
    const options = { cols: columns, rows, scrollback: 10_000, allowProposedApi: true };
    this.#terminal = new headless.Terminal(options);
  }

  /** True while a program uses the alternate screen. */
  get isTaken(): boolean {
    return this.#terminal.buffer.active.type === 'alternate';
  }

  /** All text since the start, without trailing space. */
  get text(): string {
    const lines = this.#lines().map((line) => line.translateToString(true).trimEnd());
    return lines.join('\n').trimEnd();
  }

  /** True if a line was wrapped. */
  get hasBrokenLines(): boolean {
    return this.#lines().some(({ isWrapped }) => isWrapped);
  }

  get columns(): number {
    return this.#terminal.cols;
  }

  #lines() {
    const { active } = this.#terminal.buffer;
    return Array.from({ length: active.length }, (_, row) => active.getLine(row)!);
  }

  /** Resolves when it is shown. */
  write(text: string): Promise<void> {
    const all = this.#held + text;
    [this.#held] = unfinished.exec(all)!;
    const whole = all.slice(0, all.length - this.#held.length);
    for (const [, colour, cursor] of whole.matchAll(sequence)) {
      if (colour !== undefined) this.colours.add(colour);
      if (cursor !== undefined) this.isCursorShown = cursor === 'h';
    }
    const [...rest] = whole.replaceAll(sequence, '');
    const strange = rest.findIndex((one) => /\p{Cc}/u.test(one) && !ringOrNewLine.includes(one));
    if (strange >= 0) throw new Error(`It wrote ${JSON.stringify(rest.slice(strange).join(''))}.`);
    return new Promise((resolve) => this.#terminal.write(whole, resolve));
  }

  /** Rewraps lines. An alternate screen is truncated instead. */
  resize(columns: number): void {
    this.#terminal.resize(columns, this.#terminal.rows);
  }
}
