/** Text for terminals: how wide it is, without anything that steers them, and in colours. */
import { stripVTControlCharacters, styleText } from 'node:util';

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const wide =
  /^(?:\p{Emoji_Presentation}|.\uFE0F|[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6])/u;
const invisible = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

function widthOf(grapheme: string): number {
  if (invisible.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
}

/** In columns. Colours have no width. */
export function width(text: string): number {
  let columns = 0;
  for (const { segment } of graphemes.segment(stripVTControlCharacters(text))) columns += widthOf(segment);
  return columns;
}

/** Cuts a text without colours to so many columns; what was cut shows as an ellipsis. What is far behind is not read. */
export function truncate(text: string, columns: number): string {
  let kept = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    used += widthOf(segment);
    if (used > columns) return columns > 0 ? `${kept.trimEnd()}…` : '';
    if (used < columns) kept += segment;
  }
  return text;
}

export function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - width(text)));
}

/** Breaks a text between words. A word that is wider than a line is broken too. */
export function wrap(text: string, columns: number): string[] {
  return text.split('\n').flatMap((paragraph) => {
    const lines = [''];
    let used = 0;
    for (const word of paragraph.split(/\s+/).flatMap((word) => pieces(word, columns))) {
      const gap = lines.at(-1) === '' ? '' : ' ';
      if (used + gap.length + word.width <= columns) {
        lines[lines.length - 1] += gap + word.text;
        used += gap.length + word.width;
      } else {
        lines.push(word.text);
        used = word.width;
      }
    }
    return lines;
  });
}

function pieces(word: string, columns: number): { text: string; width: number }[] {
  let piece = { text: '', width: 0 };
  const found = [piece];
  for (const { segment } of graphemes.segment(word)) {
    const width = widthOf(segment);
    if (piece.width + width > columns) {
      piece = { text: '', width: 0 };
      found.push(piece);
    }
    piece.text += segment;
    piece.width += width;
  }
  return found;
}

const command = '\x1b\\][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)';
/** Commands that go on to an end of their own, such as titles of windows; of those that have no end, the beginning. */
const longCommands = new RegExp(`${command}|\x1b+(?=\\])`, 'g');

/** What others say must not steer the terminal, nor turn the direction of what follows. */
export function clean(text: string): string {
  // Node looks for the end of each of them up to the end of the text: many without one would take for ever.
  return stripVTControlCharacters(text.replace(longCommands, '')).replace(
    /(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    '',
  );
}

/** … and where only a line has room it stays in it. */
export function oneLine(text: string): string {
  return clean(text.replace(/\s+/g, ' ')).trim();
}

/** Colours, or none: `NO_COLOR`, `--no-color`, and whatever is no terminal have none. */
export type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold';

export type Paint = (colour: Colour, text: string) => string;

export function paintWith(hasColours: boolean): Paint {
  if (!hasColours) return (_, text) => text;
  return (colour, text) => styleText(colour, text, { validateStream: false });
}

export function wantsColours(values: { readonly 'no-color'?: boolean | undefined }): boolean {
  return !values['no-color'] && !process.env.NO_COLOR;
}

/** Pieces of a line with their colours, cut where the line ends. */
export type Piece = readonly [text: string, colour?: Colour | undefined];

/** Never as wide as the terminal: what fills its last column makes some of them go to the next line. */
export function line(
  pieces: readonly Piece[],
  { columns, paint }: { readonly columns: number; readonly paint: Paint },
): string {
  let left = columns - 1;
  let text = '';
  for (const [piece, colour] of pieces) {
    const kept = truncate(piece, left);
    left -= width(kept);
    text += colour && kept !== '' ? paint(colour, kept) : kept;
    if (kept !== piece) break;
  }
  return text;
}

export function number(value: number): string {
  return String(Math.round(value * 100) / 100);
}

// --- Tables -------------------------------------------------------------------------------------------------

export interface Column<Row> {
  readonly head: string;
  cell(row: Row): string;
  /** To be cut where there is no room, but to no less than this. */
  readonly least?: number;
}

/** The widest column gives first, until all fit into the room or none can give more. */
export function widthsOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[], room: number): number[] {
  const widths = columns.map(({ head, cell }) =>
    Math.max(width(head), ...rows.map((row) => width(cell(row)))),
  );
  for (;;) {
    const giving = [...columns.keys()].filter((i) => widths[i]! > (columns[i]!.least ?? Infinity));
    if (totalWidth(widths) <= room || giving.length === 0) return widths;
    widths[giving.reduce((a, b) => (widths[b]! > widths[a]! ? b : a))]!--;
  }
}

/** Of a row, with the gaps between its columns. */
export function totalWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + gap.length, -gap.length);
}

export const gap = '  ';

/** A row of a table. */
export function tableLine(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, column) => pad(truncate(cell, widths[column]!), widths[column]!))
    .join(gap)
    .trimEnd();
}
