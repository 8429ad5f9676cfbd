/** Text as a terminal shows it: how wide it is, where it is cut, and what of it must never get there. */
import { stripVTControlCharacters } from 'node:util';

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

/** Cuts a text without colours to so many columns; what was cut shows as an ellipsis. */
export function truncate(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  let kept = '';
  let left = columns - 1;
  for (const { segment } of graphemes.segment(text)) {
    left -= widthOf(segment);
    if (left < 0) break;
    kept += segment;
  }
  return columns > 0 ? `${kept.trimEnd()}…` : '';
}

export function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - width(text)));
}

/** Breaks a text between words. A word that is wider than a line is broken too. */
export function wrap(text: string, columns: number): string[] {
  return text.split('\n').flatMap((paragraph) => {
    const lines = [''];
    for (const word of paragraph.split(/\s+/).flatMap((word) => pieces(word, columns))) {
      const longer = lines.at(-1) === '' ? word : `${lines.at(-1)} ${word}`;
      if (width(longer) <= columns) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  });
}

function pieces(word: string, columns: number): string[] {
  const found = [''];
  for (const { segment } of graphemes.segment(word)) {
    if (width(found.at(-1)! + segment) > columns) found.push('');
    found[found.length - 1] += segment;
  }
  return found;
}

/** What others say must not steer the terminal, nor turn the direction of what follows. */
export function clean(text: string): string {
  return stripVTControlCharacters(text).replace(
    /(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    '',
  );
}

/** … and where only a line has room it stays in it. */
export function oneLine(text: string): string {
  return clean(text.replace(/\s+/g, ' ')).trim();
}
