/** What a terminal would show: as much of one as the command relies on. Whatever else is written to it is an error. */
const wide = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

const esc = '\x1b';

interface Row {
  /** A cell each; a wide character is followed by an empty one. */
  cells: string[];
  /** Went on in the next row because there was no room. */
  isBroken: boolean;
}

export class Screen {
  #columns: number;
  readonly #rows: number;
  /** Everything since the beginning; the last rows are what can be seen. */
  #lines: Row[] = [{ cells: [], isBroken: false }];
  #row = 0;
  #column = 0;
  #held = '';
  /** Colours that were asked for. */
  readonly colours = new Set<string>();
  isCursorShown = true;
  /** What stood there before a program took the whole screen for a while. */
  #before: { readonly lines: Row[]; readonly row: number; readonly column: number } | undefined;

  constructor(columns: number, rows: number) {
    this.#columns = columns;
    this.#rows = rows;
  }

  /** Whether a program has the whole screen to itself. */
  get isTaken(): boolean {
    return this.#before !== undefined;
  }

  /** Without what is right of the text and below it. */
  get text(): string {
    return this.#lines
      .map(({ cells }) => cells.join('').trimEnd())
      .join('\n')
      .trimEnd();
  }

  /** Whether any line went on in the next row because it was too wide. */
  get hasBrokenLines(): boolean {
    return this.#lines.some(({ isBroken }) => isBroken);
  }

  write(text: string): void {
    let rest = this.#held + text;
    this.#held = '';
    while (rest !== '') {
      if (rest.startsWith(esc)) {
        const [sequence] = /^\[[\d;?]*[A-Za-z]/.exec(rest.slice(1)) ?? [];
        if (sequence === undefined) {
          this.#held = rest;
          return;
        }
        this.#obey(sequence);
        rest = rest.slice(1 + sequence.length);
      } else {
        const character = String.fromCodePoint(rest.codePointAt(0)!);
        this.#put(character);
        rest = rest.slice(character.length);
      }
    }
  }

  /** As terminals do that break lines anew when they become narrower or wider; a screen that was taken is cut. */
  resize(columns: number): void {
    if (this.#before) {
      this.#columns = columns;
      for (const { cells } of this.#lines) cells.length = Math.min(cells.length, columns);
      return;
    }
    const whole: { cells: string[]; cursor?: number }[] = [];
    for (const [i, { cells, isBroken }] of this.#lines.entries()) {
      const goesOn = this.#lines[i - 1]?.isBroken ?? false;
      if (!goesOn) whole.push({ cells: [] });
      const line = whole.at(-1)!;
      if (i === this.#row) line.cursor = line.cells.length + this.#column;
      line.cells.push(...cells);
      if (isBroken) while (line.cells.length % this.#columns !== 0) line.cells.push(' ');
    }
    this.#columns = columns;
    this.#lines = [];
    for (const { cells, cursor } of whole) {
      const first = this.#lines.length;
      const count = Math.max(1, Math.ceil(cells.length / columns));
      for (let i = 0; i < count; i++)
        this.#lines.push({
          cells: cells.slice(i * columns, (i + 1) * columns),
          isBroken: i < count - 1,
        });
      if (cursor === undefined) continue;
      this.#row = first + Math.min(Math.floor(cursor / columns), count - 1);
      this.#column = cursor - (this.#row - first) * columns;
    }
  }

  get #top(): number {
    return Math.max(0, this.#lines.length - this.#rows);
  }

  #put(character: string): void {
    if (character === '\r') this.#column = 0;
    else if (character === '\n') this.#down();
    else if (character === '\x07') return;
    else if (/\p{Cc}/u.test(character)) throw new Error(`It wrote ${JSON.stringify(character)}.`);
    else if (/^\p{M}/u.test(character)) this.#lines[this.#row]!.cells[this.#column - 1] += character;
    else this.#show(character, wide.test(character) ? 2 : 1);
  }

  #show(character: string, width: number): void {
    if (this.#column + width > this.#columns) {
      this.#lines[this.#row]!.isBroken = true;
      this.#column = 0;
      this.#down();
    }
    const { cells } = this.#lines[this.#row]!;
    while (cells.length < this.#column) cells.push(' ');
    cells[this.#column] = character;
    if (width === 2) cells[this.#column + 1] = '';
    this.#column += width;
  }

  #down(): void {
    this.#row++;
    if (this.#row === this.#lines.length) this.#lines.push({ cells: [], isBroken: false });
  }

  #take(isTaken: boolean): void {
    if (isTaken) this.#before ??= { lines: this.#lines, row: this.#row, column: this.#column };
    else if (!this.#before) return;
    this.#lines = isTaken ? [{ cells: [], isBroken: false }] : this.#before!.lines;
    this.#row = isTaken ? 0 : this.#before!.row;
    this.#column = isTaken ? 0 : this.#before!.column;
    if (!isTaken) this.#before = undefined;
  }

  #obey(sequence: string): void {
    const command = sequence.at(-1);
    const parameters = sequence.slice(1, -1);
    const count = Number(parameters || 1);
    const row = this.#lines[this.#row]!;
    switch (command) {
      case 'A':
        this.#row = Math.max(this.#top, this.#row - count);
        return;
      case 'B':
        this.#row = Math.min(this.#lines.length - 1, this.#row + count);
        return;
      case 'C':
        this.#column = Math.min(this.#columns - 1, this.#column + count);
        return;
      case 'D':
        this.#column = Math.max(0, this.#column - count);
        return;
      case 'G':
        this.#column = count - 1;
        return;
      case 'H':
        if (parameters !== '') throw new Error(`It wrote ${JSON.stringify(sequence)}.`);
        this.#row = this.#top;
        this.#column = 0;
        return;
      case 'J':
        this.#lines.length = this.#row + 1;
        row.cells.length = Math.min(row.cells.length, this.#column);
        row.isBroken = false;
        return;
      case 'K':
        row.cells.length = Math.min(row.cells.length, this.#column);
        row.isBroken = false;
        return;
      case 'h':
      case 'l':
        if (parameters === '?25') this.isCursorShown = command === 'h';
        else if (parameters === '?1049') this.#take(command === 'h');
        // Readline asks that what is pasted be marked.
        else if (parameters !== '?2004') throw new Error(`It wrote ${JSON.stringify(sequence)}.`);
        return;
      case 'm':
        this.colours.add(parameters);
        return;
      default:
        throw new Error(`It wrote ${JSON.stringify(sequence)}.`);
    }
  }
}
