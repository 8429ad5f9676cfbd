/** Text for terminals: width, wrapping, colours, and removal of control characters. */
import { stripVTControlCharacters, styleText } from 'node:util';

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
/** Graphemes that take two columns. */
const wide =
  /^(?:\p{Emoji_Presentation}|.\uFE0F|[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6])/u;
const invisible = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

function widthOf(grapheme: string): number {
  if (invisible.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
}

/** The width of a text in columns. Colours have no width. */
export function width(text: string): number {
  let columns = 0;
  for (const { segment } of graphemes.segment(stripVTControlCharacters(text))) columns += widthOf(segment);
  return columns;
}

/** Truncates a text without colours to this many columns, with an ellipsis. Reads no more than it shows. */
export function truncate(text: string, columns: number): string {
  let kept = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    used += widthOf(segment);
    if (used > columns) return columns > 0 ? `${kept.trimEnd()}…` : '';
    // Leaves the last column for the ellipsis.
    if (used < columns) kept += segment;
  }
  return text;
}

export function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - width(text)));
}

/** Breaks a text between words into lines of at most this many columns. A wider word is broken too. */
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

/** An operating system command (OSC), such as a window title, with its terminator. */
const command = '\x1b\\][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)';
/** Complete commands, and only the start of those without a terminator. */
const longCommands = new RegExp(`${command}|\x1b+(?=\\])`, 'g');

/** Removes characters that control the terminal or change the text direction. Keeps line breaks and tabs. */
export function clean(text: string): string {
  // Node searches for each terminator to the end of the text: many unterminated sequences would take quadratic time.
  return stripVTControlCharacters(text.replace(longCommands, '')).replace(
    /(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    '',
  );
}

/** Like `clean`, on one line. */
export function oneLine(text: string): string {
  return clean(text.replace(/\s+/g, ' ')).trim();
}

/** Colours and styles, as Node names them. */
export type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold';

export type Paint = (colour: Colour, text: string) => string;

export function paintWith(hasColours: boolean): Paint {
  if (!hasColours) return (_, text) => text;
  return (colour, text) => styleText(colour, text, { validateStream: false });
}

/** False with `--no-color`, or with `NO_COLOR` in the environment. */
export function wantsColours(values: { readonly 'no-color'?: boolean | undefined }): boolean {
  return !values['no-color'] && !process.env.NO_COLOR;
}

/** A part of a line, with its colour. */
export type Piece = readonly [text: string, colour?: Colour | undefined];

/**
 * Joins the pieces of a line and truncates it to one column less than the terminal has, because some terminals wrap a
 * line that fills the last column.
 */
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

/** A number with at most two decimals. */
export function number(value: number): string {
  return String(Math.round(value * 100) / 100);
}

// --- Tables -------------------------------------------------------------------------------------------------

export interface Column<Row> {
  readonly head: string;
  cell(row: Row): string;
  /** Present if cells may be truncated: the minimum width. */
  readonly least?: number;
}

/** Narrows the widest column first, until the row fits or no column can be narrowed further. */
export function widthsOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[], room: number): number[] {
  const widths = columns.map(({ head, cell }) =>
    Math.max(width(head), ...rows.map((row) => width(cell(row)))),
  );
  for (;;) {
    const shrinkable = [...columns.keys()].filter((i) => widths[i]! > (columns[i]!.least ?? Infinity));
    if (totalWidth(widths) <= room || shrinkable.length === 0) return widths;
    widths[shrinkable.reduce((a, b) => (widths[b]! > widths[a]! ? b : a))]!--;
  }
}

/** The width of a row, with the gaps between its columns. */
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
