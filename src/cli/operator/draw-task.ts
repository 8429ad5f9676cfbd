/** Draws one task for `show` and `watch`. */

import type { TaskEvent } from '../../model/event.ts';
import { isJsonObject, type Json } from '../../model/json.ts';
import type { Outcome } from '../../model/outcome.ts';
import type { HistoryEvent, Question, TaskDetails, TaskSummary } from '../../operator/api.ts';
import { exampleOf } from '../calls/given-answers.ts';
import { textOf } from '../output.ts';
import { age, dayAndTime, timeOfDay, took } from '../time.ts';
import { command, quoted } from '../usage.ts';
import { clean, line, oneLine, type Piece, truncate } from '../views/terminal-text.ts';
import { detailText, paragraph, progressText, type Style, signOf } from './drawing-style.ts';
import { resumed } from './timeline.ts';
import { waterfall } from './waterfall.ts';

/** The maximum number of lines of a value, and of subtasks, without `--full`. */
const maxValueLines = 12;

export function drawTask(details: TaskDetails, style: Style): string[] {
  const titled = (title: string, lines: readonly string[]) =>
    section(lines.length === 0 ? [] : [style.paint('bold', title), ...lines]);
  return [
    ...head(details, style),
    ...titled('arguments', argumentLines(details, style)),
    ...section(waterfall(details, style)),
    ...titled('subtasks', children(details, style)),
    ...section(conversation(details, style)),
    ...section(outcome(details, style)),
    ...(style.isFull
      ? [...titled('events', events(details, style)), ...titled('audit', audit(details))]
      : []),
  ];
}

/** Draws a live task in at most `rows` lines: status, timeline and open questions. */
export function drawLive(details: TaskDetails, style: Style, rows: number): string[] {
  const top = head(details, style);
  const questions = details.questions.filter(({ state }) => state === 'open');
  const open = section(conversation({ ...details, questions }, style));
  const room = Math.max(2, rows - top.length - open.length - 1);
  return [...top, ...section(waterfall(details, style, room)), ...open].slice(0, rows);
}

// --- The head ---------------------------------------------------------------------------------------------

function head(details: TaskDetails, style: Style): string[] {
  const { task, origin, worker, ancestors, retryOf, retriedAs, purgeAt, wakeAt } = details;
  const { now } = style;
  const isFinished = task.finishedAt !== undefined;
  const caller = task.plainCall ? 'a plain call of ' : '';
  const [sign, colour] = signOf(task);
  const progress = task.progress ? `  ${progressText(task.progress)}` : '';
  const title: Piece[] = [
    [`${sign} `, colour],
    [oneLine(task.tool), 'bold'],
    ['  '],
    [task.status, colour],
    [progress],
  ];
  const rows: [string, string | undefined][] = [
    ['id', task.id],
    ['owner', oneLine(task.owner) || 'anonymous'],
    ['created', `${dayAndTime(task.createdAt)}, ${age(now - task.createdAt)} ago`],
    ['request', `${caller}${oneLine(origin.method)}, ${oneLine(origin.dialect)}`],
    ['finished', finished(details, now)],
    ['message', isFinished ? '' : oneLine(task.statusMessage ?? task.progress?.message ?? '')],
    ['problem', oneLine(task.problem ?? '')],
    ['blocked', oneLine(task.blocked ?? '')],
    ['worker', worker && `${oneLine(worker.name)}, lease expires ${within(worker.leaseUntil, now)}`],
    ['passes', passes(details)],
    ['wakes', wakeAt !== null && wakeAt > now ? `in ${took(wakeAt - now)}` : ''],
    ['deadline', isFinished || task.deadlineAt === null ? '' : within(task.deadlineAt, now)],
    ['expires', purgeAt !== null ? dayAndTime(purgeAt) : ''],
    ['path', ancestors.map(({ id, tool }) => `${oneLine(tool)} ${id.slice(0, 8)}`).join(' → ')],
    ['parent', task.parentId],
    ['root', task.rootId === (task.parentId ?? task.id) ? '' : task.rootId],
    ['subtasks', subtasks(details)],
    ['retry of', retryOf],
    ['retried as', retriedAs],
  ];
  const width = style.columns < 60 ? 10 : 11;
  return [
    line(title, style),
    ...rows.flatMap(([name, value]) => {
      if (value === undefined || value === '') return [];
      // An id is never broken, so that it can be copied.
      if (!value.includes(' ') && value.length + width >= style.columns)
        return [style.paint('dim', name), line([[`  ${value}`]], style)];
      const [first = '', ...more] = paragraph(value, ' '.repeat(width), undefined, style);
      return [`${style.paint('dim', name.padEnd(width))}${first.slice(width)}`, ...more];
    }),
  ];
}

function finished({ task }: TaskDetails, now: number): string {
  if (task.finishedAt === undefined) return '';
  const { finishedAt, createdAt } = task;
  return `${dayAndTime(finishedAt)}, ${age(now - finishedAt)} ago, after ${took(finishedAt - createdAt)}`;
}

/** `in 5 s` or `5 s ago`. */
function within(moment: number, now: number): string {
  return moment > now ? `in ${age(moment - now)}` : `${age(now - moment)} ago`;
}

function subtasks({ task: { childCount, liveChildCount } }: TaskDetails): string {
  if (childCount === 0) return '';
  return `${childCount}, ${liveChildCount === 0 ? 'all finished' : `${liveChildCount} unfinished`}`;
}

/** The number of passes, crashed processes and the last take-over. */
function passes(details: TaskDetails): string {
  const { passes } = details;
  if (passes.length < 2) return '';
  const deaths = passes.filter(({ end }) => end === 'crashed').length;
  if (deaths === 0) return String(passes.length);
  const last = passes.findLast((_, i) => passes[i - 1]?.end === 'crashed');
  const died = `✗ ${deaths} ${deaths === 1 ? 'process' : 'processes'} died`;
  return `${passes.length}, ${died}${last ? `, ↻ ${resumed(last, details)}` : ''}`;
}

// --- Values -----------------------------------------------------------------------------------------------

/** Adds a blank line before the lines, unless there are none. */
function section(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', ...lines];
}

function argumentLines({ arguments: value }: TaskDetails, style: Style): string[] {
  if (isJsonObject(value) && Object.keys(value).length === 0) return [];
  return textLines(JSON.stringify(value, undefined, 2), style);
}

/** Indents a text. Without `--full`, long lines and all lines after `maxValueLines` are cut off. */
function textLines(text: string, style: Style): string[] {
  const all = clean(text).replaceAll('\t', '  ').split('\n');
  const shown = style.isFull ? all : all.slice(0, maxValueLines);
  const cut = style.isFull ? (one: string) => one : (one: string) => truncate(one, style.columns - 3);
  const left = all.length - shown.length;
  const more = left > 0 ? [line([[`  … ${left} more lines; show them with --full`, 'dim']], style)] : [];
  return [...shown.map((one) => `  ${cut(one)}`), ...more];
}

function outcome({ outcome }: TaskDetails, style: Style): string[] {
  if (!outcome) return [];
  if (outcome.kind === 'result') {
    const title = outcome.isError ? style.paint('red', 'error') : style.paint('bold', 'result');
    const text = outcome.isLarge
      ? `Large result: print it with ${command()} tasks result.`
      : resultText(outcome.value);
    return [title, ...textLines(text, style)];
  }
  return [style.paint('red', outcome.kind), ...paragraph(whyEnded(outcome), '  ', undefined, style)];
}

function resultText(value: Json): string {
  if (typeof value === 'string') return value;
  const text = isJsonObject(value) ? textOf(value) : '';
  return text === '' ? JSON.stringify(value, undefined, 2) : text;
}

/** Explains why there is no result. */
export function whyEnded(outcome: Exclude<Outcome, { readonly kind: 'result' }>): string {
  if (outcome.kind === 'cancelled')
    return outcome.reason === undefined
      ? 'The task was cancelled.'
      : `The task was cancelled: ${oneLine(outcome.reason)}`;
  const code = outcome.kind === 'failure' && outcome.code !== undefined ? ` (${outcome.code})` : '';
  return `${oneLine(outcome.message)}${code}`;
}

// --- Subtasks ---------------------------------------------------------------------------------------------

/** Full ids, because an abbreviated id of a subtask is not always found. Unfinished and failed subtasks come first. */
function children({ children, task }: TaskDetails, style: Style): string[] {
  const isCompleted = ({ status }: TaskSummary) => status === 'completed';
  const byInterest = [...children.filter((child) => !isCompleted(child)), ...children.filter(isCompleted)];
  const shown = style.isFull ? children : byInterest.slice(0, maxValueLines);
  const left = task.childCount - shown.length;
  const more = `  … ${left} more${style.isFull ? '' : '; show them with --full'}`;
  const lines = shown.map((child) => {
    const words = style.columns < 60 ? '' : `  ${oneLine(child.tool)}  ${detailText(child)}`;
    return line([['  '], signOf(child), [` ${child.id}${words}`]], style).trimEnd();
  });
  return left > 0 ? [...lines, line([[more, 'dim']], style)] : lines;
}

// --- Questions --------------------------------------------------------------------------------------------

function conversation({ task, questions }: TaskDetails, style: Style): string[] {
  if (questions.length === 0) return [];
  const asked = questions.flatMap((question) => {
    const time = `  ${timeOfDay(question.askedAt)}`;
    return [
      line([['  '], ['? ', 'yellow'], [oneLine(question.key), 'bold'], [time, 'dim']], style),
      ...paragraph(wordsOf(question), '    ', undefined, style),
      ...answerOf(question, task.id, style),
    ];
  });
  return [style.paint('bold', 'questions'), ...asked];
}

function wordsOf({ request }: Question): string {
  if (request.kind === 'roots') return 'Request for the roots';
  if (request.kind === 'sampling') return `Request to a model: ${oneLine(JSON.stringify(request.params))}`;
  const message = clean(request.message);
  return request.kind === 'url' ? `${message} ${oneLine(request.url)}` : message;
}

function answerOf(question: Question, taskId: string, style: Style): string[] {
  const { state, settledAt, response } = question;
  const time = settledAt === undefined ? '' : `  ${timeOfDay(settledAt)}`;
  if (state === 'withdrawn') return [line([[`  ↳ withdrawn${time}`, 'dim']], style)];
  if (state === 'answered') {
    const { action, content } = response ?? {};
    const text = content === undefined ? '' : ` ${oneLine(JSON.stringify(content))}`;
    return [line([['  ↳ '], [oneLine(String(action ?? 'answered')), 'green'], [text], [time, 'dim']], style)];
  }
  // Not wrapped, so that it can be copied.
  return [`    ${style.paint('dim', 'answer with:')} ${answerCommand(question, taskId, style.source)}`];
}

/**
 * The command that answers the question, with a template for the answer. `place` contains the options that select the
 * store or server, such as `--store sqlite:tasks.db`.
 */
export function answerCommand({ key, request }: Question, taskId: string, place: string): string {
  const example = exampleOf({ taskId, key, ...request });
  return `${command()} tasks answer ${taskId} ${quoted(oneLine(key))} ${example} ${place}`;
}

// --- Events and audit log ---------------------------------------------------------------------------------

function events({ events, omittedEvents }: TaskDetails, style: Style): string[] {
  const left = omittedEvents > 0 ? [line([[`  … ${omittedEvents} left out`, 'dim']], style)] : [];
  return [...events.map((event) => `  ${eventLine(event)}`), ...left];
}

function audit({ audit }: TaskDetails): string[] {
  return audit.map(({ at, action, by, owner, reason }) => {
    const who = owner === null ? by : `${by} ${owner}`;
    return `  ${oneLine(`${timeOfDay(at)} ${action} by ${who}${reason ? `: ${reason}` : ''}`)}`;
  });
}

// --- Texts of events ----------------------------------------------------------------------------------------

/** `14:02:11 asks "approval"`. */
export function eventLine({ at, event }: HistoryEvent): string {
  const text = eventTexts[event.type] as ((event: TaskEvent, at: number) => string) | undefined;
  return oneLine(`${timeOfDay(at)} ${text?.(event, at) ?? event.type}`);
}

/** True for bookkeeping events that a log does not need. */
export function isNoise({ event }: HistoryEvent): boolean {
  return ['recorded', 'delivering', 'undelivered', 'awaited', 'published'].includes(event.type);
}

type EventTexts = {
  readonly [Type in TaskEvent['type']]?: (event: Extract<TaskEvent, { type: Type }>, at: number) => string;
};

/**
 * The types are those of stored events: `rested` is the wait before a retry after a crash, `stuck` means blocked, and
 * `held` waits for subtasks after the handler has finished.
 */
const eventTexts: EventTexts = {
  created: () => 'created',
  claimed: ({ epoch, worker, takenFrom }) =>
    `pass ${epoch} on ${worker}${takenFrom === undefined ? '' : `, taken over from ${takenFrom}`}`,
  recorded: ({ entries }) => `recorded ${entries} ${entries === 1 ? 'entry' : 'entries'}`,
  reported: ({ progress, message }) =>
    [progress ? progressText(progress) : '', progress?.message ?? message ?? ''].filter(Boolean).join(' ') ||
    'reported progress',
  asked: ({ key }) => `asks "${key}"`,
  answered: ({ key }) => `"${key}" is answered`,
  withdrawn: ({ key }) => `"${key}" is withdrawn`,
  childStarted: ({ childId }) => `starts subtask ${childId}`,
  childDone: ({ childId, outcome }) => `subtask ${childId} finished: ${outcome}`,
  parked: ({ until }, at) => (until === null ? 'parked' : `parked for ${took(until - at)}`),
  released: () => 'released by its worker',
  rested: ({ takenFrom, until }, at) =>
    `${takenFrom} died or stopped responding; retries in ${took(until - at)}`,
  isolated: () => 'runs alone because its process died before',
  stuck: ({ until, message }, at) => `blocked for ${took(until - at)}: ${message}`,
  completed: ({ name }) => `event "${name}" arrived`,
  held: ({ liveChildren }) =>
    `handler finished; waiting for ${liveChildren} ${liveChildren === 1 ? 'subtask' : 'subtasks'}`,
  finished: ({ outcome }) => `finished: ${outcome}`,
  delivering: ({ key }) => `"${key}" is being delivered`,
  undelivered: ({ key }) => `"${key}" was not delivered`,
  awaited: () => 'the caller waits for the result',
  handedOver: () => 'handed over to the caller, which follows it with plain tools',
};
