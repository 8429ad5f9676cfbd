/** The signs that tasks are drawn with, and what stands for them where a terminal has nothing but ASCII. */
import { stripVTControlCharacters } from 'node:util';
import type { Standing } from '../../model/standing.ts';
import type { Colour } from '../live/colours.ts';
import { width } from '../live/width.ts';

export const standingSigns: Readonly<Record<Standing, readonly [sign: string, colour: Colour]>> = {
  queued: ['◌', 'dim'],
  running: ['●', 'cyan'],
  waiting: ['?', 'yellow'],
  completed: ['✔', 'green'],
  failed: ['✖', 'red'],
  cancelled: ['⊘', 'dim'],
  lost: ['!', 'red'],
};

/** One character for one, so that what stands below each other still does. */
const inAscii: Readonly<Record<string, string>> = {
  '…': '~',
  '·': '-',
  '◌': 'o',
  '●': '*',
  '✔': '+',
  '✖': 'x',
  '✗': 'x',
  '⊘': '/',
  '↻': '>',
  '→': '>',
  '↳': '>',
  '▸': '>',
  '━': '-',
  '─': '-',
  '├': '|',
  '┤': '|',
  '⋯': '~',
  '█': '#',
  '▒': '=',
  '░': '.',
};

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** As wide as it was. What others said in letters that ASCII has not becomes question marks. */
export function asciiOnly(line: string): string {
  if (/^[\x20-\x7e]*$/.test(stripVTControlCharacters(line))) return line;
  let text = '';
  for (const { segment } of graphemes.segment(line))
    text += isAscii(segment) ? segment : (inAscii[segment] ?? '?'.repeat(width(segment)));
  return text;
}

/** A letter with an accent of its own (`e` and U+0301) is not, although it begins with one that is. */
function isAscii(segment: string): boolean {
  return segment.length === 1 && segment < '\x7f';
}

/** Where nobody said which letters a terminal has, it has those that everybody has these days. */
export function speaksUtf8({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG;
  return !locale || /utf-?8/i.test(locale);
}
