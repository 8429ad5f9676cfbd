/** How a drawing is to look: how wide, in which colours, and at which moment. */
import { ReadStream, WriteStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import type { TaskStatus } from '../../model/status.ts';
import type { TaskSummary } from '../../operator/api.ts';
import {
  type Colour,
  line,
  number,
  oneLine,
  type Paint,
  type Piece,
  paintWith,
  wantsColours,
  width,
  wrap,
} from '../views/terminal-text.ts';

export interface Look {
  readonly columns: number;
  readonly paint: Paint;
  /** By the clock of whoever tells of the tasks. */
  readonly now: number;
  /** Nothing is left out. */
  readonly isFull: boolean;
  /** The options that lead back here: `--store sqlite:tasks.db`. */
  readonly place: string;
}

/** A text as lines of the whole width, all of them indented. */
export function paragraph(text: string, indent: string, colour: Colour | undefined, look: Look): string[] {
  return wrap(text, Math.max(10, look.columns - 1 - width(indent))).map((words) =>
    line([[indent], [words, colour]], look),
  );
}

/** What a task says of itself: how far it is, or why it ended, in one line. */
export function saying(task: TaskSummary): string {
  const { progress, statusMessage, problem, blocked: stuck, openQuestions, status: standing } = task;
  if (problem !== undefined) return oneLine(problem);
  if (stuck !== undefined) return `set aside: ${oneLine(stuck)}`;
  const isOver = task.finishedAt !== undefined;
  const far = progress && !isOver ? farOf(progress) : '';
  const asks =
    standing === 'waiting' ? `${openQuestions} ${openQuestions === 1 ? 'question' : 'questions'}` : '';
  const said = oneLine(progress?.message ?? statusMessage ?? '');
  return [far, asks, isOver ? '' : said].filter((part) => part !== '').join(' · ');
}

/** The same in a list, where subtasks and plain calls are marked. */
export function sayingAlone(task: TaskSummary): string {
  const kind = task.plainCall ? 'plain call' : task.parentId === undefined ? '' : 'subtask';
  return [kind, saying(task)].filter((part) => part !== '').join(' · ');
}

export function farOf({ done, total }: { readonly done: number; readonly total?: number }): string {
  return total === undefined ? number(done) : `${number(done)}/${number(total)}`;
}

export function signOf({ status: standing }: Pick<TaskSummary, 'status'>): Piece {
  return standingSigns[standing];
}

// --- Whoever looks ----------------------------------------------------------------------------------------

const colour = '\x1b\\[(?:[12]|22|3[1-9])m';
const steering = '\\p{Cc}|[\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]';
const inColour = new RegExp(`(?!${colour})(?:${steering})`, 'gu');
const inBlack = new RegExp(steering, 'gu');

export type Sight = ReturnType<typeof sightOf>;

/** Where drawings go: a terminal or a pipe, with colours or without. */
export function sightOf(values: { readonly ascii?: boolean; readonly 'no-color'?: boolean }) {
  const { stdin, stdout } = process;
  const isTerminal = stdout instanceof WriteStream;
  const isAscii = values.ascii || !speaksUtf8(process.env);
  const hasColours = isTerminal && wantsColours(values);
  // Whatever a server says, even where an id is expected: a line stays a line, and has no signs but ours.
  const spell = (line: string) => {
    const harmless = line.replace(hasColours ? inColour : inBlack, '');
    return isAscii ? asciiOnly(harmless) : harmless;
  };
  return {
    paint: paintWith(hasColours),
    /** Undefined in a pipe, where nothing need be cut. */
    columns: isTerminal ? stdout.columns || 80 : undefined,
    /** Present if drawings can be drawn anew in place. */
    terminal: isTerminal && process.env.TERM !== 'dumb' ? stdout : undefined,
    /** Present if somebody can press keys. */
    keys: stdin instanceof ReadStream ? stdin : undefined,
    /** What a line becomes before it is written. */
    spell,
    print: (lines: readonly string[]) => {
      for (const one of lines) console.log(spell(one));
    },
  };
}

// --- Signs, and what stands for them in ASCII ---------------------------------------------------------------

export const standingSigns: Readonly<Record<TaskStatus, readonly [sign: string, colour: Colour]>> = {
  queued: ['◌', 'dim'],
  running: ['●', 'cyan'],
  waiting: ['?', 'yellow'],
  completed: ['✔', 'green'],
  failed: ['✖', 'red'],
  cancelled: ['⊘', 'dim'],
  lost: ['!', 'red'],
};

/** One character for one, so that what stands below each other still does. */
const signs = '…·◌●✔✖✗⊘↻→↳▸━─├┤⋯█▒░';
const inAscii = '~-o*+xx/>>>>--||~#=.';

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/**
 * As wide as it was. What others said in letters that ASCII has not becomes question marks; so does a letter with an
 * accent of its own (`e` and U+0301), although it begins with one that ASCII has.
 */
export function asciiOnly(line: string): string {
  if (/^[\x20-\x7e]*$/.test(stripVTControlCharacters(line))) return line;
  let text = '';
  for (const { segment } of graphemes.segment(line))
    text +=
      segment < '\x7f' && segment.length === 1
        ? segment
        : (inAscii[signs.indexOf(segment)] ?? '?'.repeat(width(segment)));
  return text;
}

/** Where nobody said which letters a terminal has, it has those that everybody has these days. */
export function speaksUtf8({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG;
  return !locale || /utf-?8/i.test(locale);
}
