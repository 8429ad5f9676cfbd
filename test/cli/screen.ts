/** What a terminal shows, and what it was told. Whatever the command need not rely on is an error if it is written. */
import headless from '@xterm/headless';

const esc = '\x1b';
/** Moves, erasing and colours; the cursor, the whole screen, and what Readline asks for: that what is pasted be marked. */
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

  /** Whether a program has taken the whole screen for a while. */
  get isTaken(): boolean {
    return this.#terminal.buffer.active.type === 'alternate';
  }

  /** Everything since the beginning, without what is right of the text and below it. */
  get text(): string {
    const lines = this.#lines().map((line) => line.translateToString(true).trimEnd());
    return lines.join('\n').trimEnd();
  }

  /** Whether a line went on in the next row because there was no room. */
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

  /** Lines are broken anew; a screen that was taken is cut. */
  resize(columns: number): void {
    this.#terminal.resize(columns, this.#terminal.rows);
  }
}
