/** What a terminal would show: as much of one as the command relies on. Whatever else is written to it is an error. */
const wide = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

const esc = '\x1b';

interface Row {
  /** A cell each; a wide character is followed by an empty one. */
  cells: string[];
  /** Went on in the next row because there was no room. */
  isBroken: boolean;
}

/** Everything since the beginning; the last rows are what can be seen. */
class Page {
  lines: Row[] = [{ cells: [], isBroken: false }];
  row = 0;
  column = 0;
}

export class Screen {
  #columns: number;
  readonly #rows: number;
  #page = new Page();
  #held = '';
  readonly colours = new Set<string>();
  isCursorShown = true;
  /** What stood there before a program took the whole screen for a while. */
  #before: Page | undefined;

  constructor(columns: number, rows: number) {
    this.#columns = columns;
    this.#rows = rows;
  }

  get isTaken(): boolean {
    return this.#before !== undefined;
  }

  /** Without what is right of the text and below it. */
  get text(): string {
    return this.#page.lines
      .map(({ cells }) => cells.join('').trimEnd())
      .join('\n')
      .trimEnd();
  }

  get hasBrokenLines(): boolean {
    return this.#page.lines.some(({ isBroken }) => isBroken);
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

  get columns(): number {
    return this.#columns;
  }

  /** As terminals do that break lines anew when they become narrower or wider; a screen that was taken is cut. */
  resize(columns: number): void {
    const page = this.#page;
    if (this.#before) {
      this.#columns = columns;
      for (const { cells } of page.lines) cells.length = Math.min(cells.length, columns);
      return;
    }
    const whole: { cells: string[]; cursor?: number }[] = [];
    for (const [i, { cells, isBroken }] of page.lines.entries()) {
      if (!page.lines[i - 1]?.isBroken) whole.push({ cells: [] });
      const line = whole.at(-1)!;
      if (i === page.row) line.cursor = line.cells.length + page.column;
      line.cells.push(...cells);
      if (isBroken) while (line.cells.length % this.#columns !== 0) line.cells.push(' ');
    }
    this.#columns = columns;
    page.lines = [];
    for (const { cells, cursor } of whole) {
      const first = page.lines.length;
      const count = Math.max(1, Math.ceil(cells.length / columns));
      for (let i = 0; i < count; i++)
        page.lines.push({ cells: cells.slice(i * columns, (i + 1) * columns), isBroken: i < count - 1 });
      if (cursor === undefined) continue;
      page.row = first + Math.min(Math.floor(cursor / columns), count - 1);
      page.column = cursor - (page.row - first) * columns;
    }
  }

  get #top(): number {
    return Math.max(0, this.#page.lines.length - this.#rows);
  }

  #put(character: string): void {
    const page = this.#page;
    if (character === '\r') page.column = 0;
    else if (character === '\n') this.#down();
    else if (character === '\x07') return;
    else if (/\p{Cc}/u.test(character)) throw new Error(`It wrote ${JSON.stringify(character)}.`);
    else if (/^\p{M}/u.test(character)) page.lines[page.row]!.cells[page.column - 1] += character;
    else this.#show(character, wide.test(character) ? 2 : 1);
  }

  #show(character: string, width: number): void {
    const page = this.#page;
    if (page.column + width > this.#columns) {
      page.lines[page.row]!.isBroken = true;
      page.column = 0;
      this.#down();
    }
    const { cells } = page.lines[page.row]!;
    while (cells.length < page.column) cells.push(' ');
    cells[page.column] = character;
    if (width === 2) cells[page.column + 1] = '';
    page.column += width;
  }

  #down(): void {
    const { lines } = this.#page;
    this.#page.row++;
    if (this.#page.row === lines.length) lines.push({ cells: [], isBroken: false });
  }

  #obey(sequence: string): void {
    const command = sequence.at(-1);
    const parameters = sequence.slice(1, -1);
    const count = Number(parameters || 1);
    const page = this.#page;
    if (command === 'A') page.row = Math.max(this.#top, page.row - count);
    else if (command === 'B') page.row = Math.min(page.lines.length - 1, page.row + count);
    else if (command === 'C') page.column = Math.min(this.#columns - 1, page.column + count);
    else if (command === 'D') page.column = Math.max(0, page.column - count);
    else if (command === 'G') page.column = count - 1;
    else if (sequence === '[H') {
      page.row = this.#top;
      page.column = 0;
    } else if (command === 'J' || command === 'K') {
      if (command === 'J') page.lines.length = page.row + 1;
      const row = page.lines[page.row]!;
      row.cells.length = Math.min(row.cells.length, page.column);
      row.isBroken = false;
    } else if (command === 'm') this.colours.add(parameters);
    else if (parameters === '?25') this.isCursorShown = command === 'h';
    else if (sequence === '[?1049h') {
      this.#before ??= page;
      this.#page = new Page();
    } else if (sequence === '[?1049l') {
      this.#page = this.#before ?? page;
      this.#before = undefined;
    }
    // Readline asks that what is pasted be marked.
    else if (parameters !== '?2004') throw new Error(`It wrote ${JSON.stringify(sequence)}.`);
  }
}
