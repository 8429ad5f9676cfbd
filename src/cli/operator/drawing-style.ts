/** The style of drawings (width, colours, time) and the output that they are written to. */
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

export interface Style {
  readonly columns: number;
  readonly paint: Paint;
  /** The time of the drawing, by the clock of the store or server. */
  readonly now: number;
  /** With `--full`: values are not truncated, and no lines are left out to save room. */
  readonly isFull: boolean;
  /** The options that select this store or server: `--store sqlite:tasks.db`. */
  readonly source: string;
}

/** Wraps a text into indented lines of the full width. */
export function paragraph(text: string, indent: string, colour: Colour | undefined, style: Style): string[] {
  return wrap(text, Math.max(10, style.columns - 1 - width(indent))).map((words) =>
    line([[indent], [words, colour]], style),
  );
}

/** One line about a task: its problem, why it is blocked, or its progress, questions and message. May be empty. */
export function detailText(task: TaskSummary): string {
  const { progress, statusMessage, problem, blocked, openQuestions, status } = task;
  if (problem !== undefined) return oneLine(problem);
  if (blocked !== undefined) return `blocked: ${oneLine(blocked)}`;
  const isFinished = task.finishedAt !== undefined;
  const shownProgress = progress && !isFinished ? progressText(progress) : '';
  const asks =
    status === 'waiting' ? `${openQuestions} ${openQuestions === 1 ? 'question' : 'questions'}` : '';
  const message = oneLine(progress?.message ?? statusMessage ?? '');
  return [shownProgress, asks, isFinished ? '' : message].filter((part) => part !== '').join(' · ');
}

/** Like `detailText`, for lists: subtasks and plain calls are marked. */
export function listDetailText(task: TaskSummary): string {
  const kind = task.plainCall ? 'plain call' : task.parentId === undefined ? '' : 'subtask';
  return [kind, detailText(task)].filter((part) => part !== '').join(' · ');
}

/** `3/10`, or `3` if the total is unknown. */
export function progressText({ done, total }: { readonly done: number; readonly total?: number }): string {
  return total === undefined ? number(done) : `${number(done)}/${number(total)}`;
}

export function signOf({ status }: Pick<TaskSummary, 'status'>): Piece {
  return statusSigns[status];
}

// --- Output -----------------------------------------------------------------------------------------------

/** Matches the escape sequences of `paint`. */
const colour = '\x1b\\[(?:[12]|22|3[1-9])m';
const controlCharacters = '\\p{Cc}|[\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]';
/** Matches control characters, except in the escape sequences of `paint`. */
const inColour = new RegExp(`(?!${colour})(?:${controlCharacters})`, 'gu');
const inBlack = new RegExp(controlCharacters, 'gu');

export type Output = ReturnType<typeof outputFor>;

/** The output for drawings: a terminal or a pipe, with or without colours. */
export function outputFor(values: { readonly ascii?: boolean; readonly 'no-color'?: boolean }) {
  const { stdin, stdout } = process;
  const isTerminal = stdout instanceof WriteStream;
  const isAscii = values.ascii || !supportsUtf8(process.env);
  const hasColours = isTerminal && wantsColours(values);
  // Removes control characters, which a server could send even in an id.
  const spell = (line: string) => {
    const harmless = line.replace(hasColours ? inColour : inBlack, '');
    return isAscii ? asciiOnly(harmless) : harmless;
  };
  return {
    paint: paintWith(hasColours),
    /** Undefined in a pipe: there lists are not truncated, and other drawings have a fixed width. */
    columns: isTerminal ? stdout.columns || 80 : undefined,
    /** Present if drawings can be redrawn in place. */
    terminal: isTerminal && process.env.TERM !== 'dumb' ? stdout : undefined,
    /** Present if the user can press keys. */
    keys: stdin instanceof ReadStream ? stdin : undefined,
    /** Prepares a line for the output. */
    spell,
    print: (lines: readonly string[]) => {
      for (const one of lines) console.log(spell(one));
    },
  };
}

// --- Signs, and their replacements in ASCII -----------------------------------------------------------------

export const statusSigns: Readonly<Record<TaskStatus, readonly [sign: string, colour: Colour]>> = {
  queued: ['◌', 'dim'],
  running: ['●', 'cyan'],
  waiting: ['?', 'yellow'],
  completed: ['✔', 'green'],
  failed: ['✖', 'red'],
  cancelled: ['⊘', 'dim'],
  lost: ['!', 'red'],
};

/**
 * `inAscii` contains the replacement of each sign at the same index, one character each, so that columns stay aligned.
 */
const signs = '…·◌●✔✖✗⊘↻→↳▸━─├┤⋯█▒░';
const inAscii = '~-o*+xx/>>>>--||~#=.';

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/**
 * Converts a line to ASCII of the same width. Characters outside ASCII become question marks, also a letter with a
 * combining accent (`e` and U+0301).
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

/** Assumes UTF-8 if no locale is set. */
export function supportsUtf8({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG;
  return !locale || /utf-?8/i.test(locale);
}
