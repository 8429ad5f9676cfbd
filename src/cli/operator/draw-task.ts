/** Everything that is known of one task, drawn: `show`, and `watch` of one task. */

import type { TaskEvent } from '../../model/event.ts';
import { isJsonObject, type Json } from '../../model/json.ts';
import type { Outcome } from '../../model/outcome.ts';
import type { HistoryEvent, Question, TaskDetails, TaskSummary } from '../../operator/api.ts';
import { exampleOf } from '../calls/given-answers.ts';
import { textOf } from '../output.ts';
import { age, dayAndTime, timeOfDay, took } from '../time.ts';
import { command, quoted } from '../usage.ts';
import { clean, line, oneLine, type Piece, truncate } from '../views/terminal-text.ts';
import { farOf, type Look, paragraph, saying, signOf } from './drawing-style.ts';
import { resumed } from './timeline.ts';
import { waterfall } from './waterfall.ts';

/** More lines of a value than that are for `--full`. */
const fewLines = 12;

export function drawStory(story: TaskDetails, look: Look): string[] {
  const titled = (title: string, lines: readonly string[]) =>
    section(lines.length === 0 ? [] : [look.paint('bold', title), ...lines]);
  return [
    ...head(story, look),
    ...titled('arguments', argumentLines(story, look)),
    ...section(waterfall(story, look)),
    ...titled('subtasks', children(story, look)),
    ...section(conversation(story, look)),
    ...section(outcome(story, look)),
    ...(look.isFull ? [...titled('events', events(story, look)), ...titled('audit', audit(story))] : []),
  ];
}

/** What fits into so many lines while it goes on: how it stands, and what happens now. */
export function drawLive(story: TaskDetails, look: Look, rows: number): string[] {
  const top = head(story, look);
  const questions = story.questions.filter(({ state }) => state === 'open');
  const open = section(conversation({ ...story, questions }, look));
  const room = Math.max(2, rows - top.length - open.length - 1);
  return [...top, ...section(waterfall(story, look, room)), ...open].slice(0, rows);
}

// --- The head ---------------------------------------------------------------------------------------------

function head(story: TaskDetails, look: Look): string[] {
  const { task, origin, worker: holder, ancestors, retryOf, retriedAs, purgeAt, wakeAt } = story;
  const { now } = look;
  const isOver = task.finishedAt !== undefined;
  const caller = task.plainCall ? 'a plain call of ' : '';
  const [sign, colour] = signOf(task);
  const far = task.progress ? `  ${farOf(task.progress)}` : '';
  const title: Piece[] = [
    [`${sign} `, colour],
    [oneLine(task.tool), 'bold'],
    ['  '],
    [task.status, colour],
    [far],
  ];
  const rows: [string, string | undefined][] = [
    ['id', task.id],
    ['owner', oneLine(task.owner) || 'nobody in particular'],
    ['called', `${dayAndTime(task.createdAt)}, ${age(now - task.createdAt)} ago`],
    ['by', `${caller}${oneLine(origin.method)}, ${oneLine(origin.dialect)}`],
    ['ended', ended(story, now)],
    ['says', isOver ? '' : oneLine(task.statusMessage ?? task.progress?.message ?? '')],
    ['problem', oneLine(task.problem ?? '')],
    ['set aside', oneLine(task.blocked ?? '')],
    ['held by', holder && `${oneLine(holder.name)}, its lease ends ${within(holder.leaseUntil, now)}`],
    ['passes', passes(story)],
    ['wakes', wakeAt !== null && wakeAt > now ? `in ${took(wakeAt - now)}` : ''],
    ['deadline', isOver || task.deadlineAt === null ? '' : within(task.deadlineAt, now)],
    ['kept', purgeAt !== null ? `until ${dayAndTime(purgeAt)}` : ''],
    ['below', ancestors.map(({ id, tool }) => `${oneLine(tool)} ${id.slice(0, 8)}`).join(' → ')],
    ['parent', task.parentId],
    ['root', task.rootId === (task.parentId ?? task.id) ? '' : task.rootId],
    ['subtasks', subtasks(story)],
    ['retry of', retryOf],
    ['retried as', retriedAs],
  ];
  const width = look.columns < 60 ? 10 : 11;
  return [
    line(title, look),
    ...rows.flatMap(([name, value]) => {
      if (value === undefined || value === '') return [];
      // An id is never broken, so that it can be copied.
      if (!value.includes(' ') && value.length + width >= look.columns)
        return [look.paint('dim', name), line([[`  ${value}`]], look)];
      const [first = '', ...more] = paragraph(value, ' '.repeat(width), undefined, look);
      return [`${look.paint('dim', name.padEnd(width))}${first.slice(width)}`, ...more];
    }),
  ];
}

function ended({ task }: TaskDetails, now: number): string {
  if (task.finishedAt === undefined) return '';
  const { finishedAt, createdAt } = task;
  return `${dayAndTime(finishedAt)}, ${age(now - finishedAt)} ago, after ${took(finishedAt - createdAt)}`;
}

function within(moment: number, now: number): string {
  return moment > now ? `in ${age(moment - now)}` : `${age(now - moment)} ago`;
}

function subtasks({ task: { childCount, liveChildCount } }: TaskDetails): string {
  if (childCount === 0) return '';
  return `${childCount}, ${liveChildCount === 0 ? 'all over' : `${liveChildCount} not over yet`}`;
}

/** That a process died is the first thing to be seen. */
function passes(story: TaskDetails): string {
  const { passes } = story;
  if (passes.length < 2) return '';
  const deaths = passes.filter(({ end }) => end === 'crashed').length;
  if (deaths === 0) return String(passes.length);
  const last = passes.findLast((_, i) => passes[i - 1]?.end === 'crashed');
  const died = `✗ ${deaths} ${deaths === 1 ? 'process' : 'processes'} died`;
  return `${passes.length}, ${died}${last ? `, ↻ ${resumed(last, story)}` : ''}`;
}

// --- Values -----------------------------------------------------------------------------------------------

function section(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', ...lines];
}

function argumentLines({ arguments: value }: TaskDetails, look: Look): string[] {
  if (isJsonObject(value) && Object.keys(value).length === 0) return [];
  return textLines(JSON.stringify(value, undefined, 2), look);
}

/** Cut at the right and below, unless everything was asked for. */
function textLines(text: string, look: Look): string[] {
  const all = clean(text).replaceAll('\t', '  ').split('\n');
  const shown = look.isFull ? all : all.slice(0, fewLines);
  const cut = look.isFull ? (one: string) => one : (one: string) => truncate(one, look.columns - 3);
  const left = all.length - shown.length;
  const more = left > 0 ? [line([[`  … ${left} lines more; --full shows them`, 'dim']], look)] : [];
  return [...shown.map((one) => `  ${cut(one)}`), ...more];
}

function outcome({ outcome }: TaskDetails, look: Look): string[] {
  if (!outcome) return [];
  if (outcome.kind === 'result') {
    const title = outcome.isError ? look.paint('red', 'error') : look.paint('bold', 'result');
    const text = outcome.isLarge
      ? `It is large: ${command()} tasks result prints it.`
      : resultText(outcome.value);
    return [title, ...textLines(text, look)];
  }
  return [look.paint('red', outcome.kind), ...paragraph(whyEnded(outcome), '  ', undefined, look)];
}

function resultText(value: Json): string {
  if (typeof value === 'string') return value;
  const text = isJsonObject(value) ? textOf(value) : '';
  return text === '' ? JSON.stringify(value, undefined, 2) : text;
}

/** Why there is no result. */
export function whyEnded(outcome: Exclude<Outcome, { readonly kind: 'result' }>): string {
  if (outcome.kind === 'cancelled')
    return outcome.reason === undefined
      ? 'It was cancelled.'
      : `It was cancelled: ${oneLine(outcome.reason)}`;
  const code = outcome.kind === 'failure' && outcome.code !== undefined ? ` (${outcome.code})` : '';
  return `${oneLine(outcome.message)}${code}`;
}

// --- Subtasks ---------------------------------------------------------------------------------------------

/** With their whole ids, by which alone they are found. Those that go on or went wrong are looked for first. */
function children({ children, task }: TaskDetails, look: Look): string[] {
  const isDull = ({ status: standing }: TaskSummary) => standing === 'completed';
  const byInterest = [...children.filter((child) => !isDull(child)), ...children.filter(isDull)];
  const shown = look.isFull ? children : byInterest.slice(0, fewLines);
  const left = task.childCount - shown.length;
  const more = `  … ${left} more${look.isFull ? '' : '; --full shows them'}`;
  const lines = shown.map((child) => {
    const words = look.columns < 60 ? '' : `  ${oneLine(child.tool)}  ${saying(child)}`;
    return line([['  '], signOf(child), [` ${child.id}${words}`]], look).trimEnd();
  });
  return left > 0 ? [...lines, line([[more, 'dim']], look)] : lines;
}

// --- What was said ----------------------------------------------------------------------------------------

function conversation({ task, questions }: TaskDetails, look: Look): string[] {
  if (questions.length === 0) return [];
  const asked = questions.flatMap((question) => {
    const time = `  ${timeOfDay(question.askedAt)}`;
    return [
      line([['  '], ['? ', 'yellow'], [oneLine(question.key), 'bold'], [time, 'dim']], look),
      ...paragraph(wordsOf(question), '    ', undefined, look),
      ...answerOf(question, task.id, look),
    ];
  });
  return [look.paint('bold', 'conversation'), ...asked];
}

function wordsOf({ request }: Question): string {
  if (request.kind === 'roots') return 'Which roots are there?';
  if (request.kind === 'sampling')
    return `A model is to say something: ${oneLine(JSON.stringify(request.params))}`;
  const message = clean(request.message);
  return request.kind === 'url' ? `${message} ${oneLine(request.url)}` : message;
}

function answerOf(question: Question, taskId: string, look: Look): string[] {
  const { state, settledAt, response } = question;
  const time = settledAt === undefined ? '' : `  ${timeOfDay(settledAt)}`;
  if (state === 'withdrawn') return [line([[`  ↳ nobody needs the answer any more${time}`, 'dim']], look)];
  if (state === 'answered') {
    const { action, content } = response ?? {};
    const said = content === undefined ? '' : ` ${oneLine(JSON.stringify(content))}`;
    return [line([['  ↳ '], [oneLine(String(action ?? 'answered')), 'green'], [said], [time, 'dim']], look)];
  }
  // In one piece, however wide, so that it can be copied.
  return [`    ${look.paint('dim', 'answer with:')} ${answerCommand(question, taskId, look.place)}`];
}

/** The command that answers it, to be filled in. */
export function answerCommand({ key, request }: Question, taskId: string, place: string): string {
  const example = exampleOf({ taskId, key, ...request });
  return `${command()} tasks answer ${taskId} ${quoted(oneLine(key))} ${example} ${place}`;
}

// --- Everything else --------------------------------------------------------------------------------------

function events({ events, omittedEvents }: TaskDetails, look: Look): string[] {
  const left = omittedEvents > 0 ? [line([[`  … ${omittedEvents} left out`, 'dim']], look)] : [];
  return [...events.map((event) => `  ${eventLine(event)}`), ...left];
}

function audit({ audit }: TaskDetails): string[] {
  return audit.map(({ at, action, by, owner, reason }) => {
    const who = owner === null ? by : `${by} ${owner}`;
    return `  ${oneLine(`${timeOfDay(at)} ${action} by ${who}${reason ? `: ${reason}` : ''}`)}`;
  });
}

// --- Events in words ----------------------------------------------------------------------------------------

/** `14:02:11 asks "approval"`. */
export function eventLine({ at, event }: HistoryEvent): string {
  const tell = words[event.type] as ((event: TaskEvent, at: number) => string) | undefined;
  return oneLine(`${timeOfDay(at)} ${tell?.(event, at) ?? event.type}`);
}

/** Book-keeping that nobody would miss in a log. */
export function isNoise({ event }: HistoryEvent): boolean {
  return ['recorded', 'delivering', 'undelivered', 'awaited', 'published'].includes(event.type);
}

type Words = {
  readonly [Type in TaskEvent['type']]?: (event: Extract<TaskEvent, { type: Type }>, at: number) => string;
};

const words: Words = {
  created: () => 'called',
  claimed: ({ epoch, holder, takenFrom }) =>
    `pass ${epoch} on ${holder}${takenFrom === undefined ? '' : `, taken over from ${takenFrom}`}`,
  recorded: ({ entries }) => `${entries} ${entries === 1 ? 'entry' : 'entries'} in the journal`,
  reported: ({ progress, message }) =>
    [progress ? farOf(progress) : '', progress?.message ?? message ?? ''].filter(Boolean).join(' ') ||
    'reports',
  asked: ({ key }) => `asks "${key}"`,
  answered: ({ key }) => `"${key}" is answered`,
  withdrawn: ({ key }) => `"${key}" is not asked any more`,
  childStarted: ({ childId }) => `starts subtask ${childId}`,
  childDone: ({ childId, outcome }) => `subtask ${childId} ended: ${outcome}`,
  parked: ({ until }, at) => (until === null ? 'parked' : `parked for ${took(until - at)}`),
  released: () => 'released by its worker',
  rested: ({ takenFrom, until }, at) => `${takenFrom} died or fell silent; rests for ${took(until - at)}`,
  isolated: () => 'runs alone, because its process died before',
  stuck: ({ until, message }, at) => `set aside for ${took(until - at)}: ${message}`,
  completed: ({ name }) => `"${name}" happened`,
  held: ({ liveChildren }) => `the handler has ended, ${liveChildren} subtasks have not`,
  finished: ({ outcome }) => `ended: ${outcome}`,
  delivering: ({ key }) => `"${key}" is being delivered`,
  undelivered: ({ key }) => `"${key}" was not delivered`,
  awaited: () => 'its caller waits',
  handedOver: () => 'handed over to its caller, which follows it with plain tools',
};
