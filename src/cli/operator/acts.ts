/** What operators do to a task: cancel, retry, answer and purge it, and fetch what came of it. */

import { isJsonObject, type Json, type JsonObject } from '../../model/json.ts';
import type { Question, TaskStory, TaskSummary } from '../../operator/api.ts';
import { exampleOf } from '../given-answers.ts';
import { ask } from '../live/ask.ts';
import { clean, oneLine } from '../live/terminal-text.ts';
import { jsonText, printJson, printResult } from '../output.ts';
import { CommandFailed, command, quoted, readJson, WrongUsage } from '../usage.ts';
import type { At } from './desk.ts';
import { whyEnded } from './draw-story.ts';

export async function result(at: At, id: string): Promise<number> {
  const { desk, values } = at;
  const outcome = await desk.result(id);
  if (!outcome) {
    const { task } = await storyOf(at, id);
    throw new CommandFailed(
      `Task ${id} has no result yet: it is ${task.standing}. \`${command()} tasks watch ${id} ${at.place}\` waits for its end.`,
    );
  }
  at.sayWhatIsHidden();
  const isGood = outcome.kind === 'result' && !outcome.isError;
  if (values.json) printJson(outcome);
  else if (outcome.kind !== 'result') throw new CommandFailed(whyEnded(outcome));
  else printValue(outcome.value, isGood);
  return isGood ? 0 : 1;
}

/** Text as text; of what has none, its JSON. */
function printValue(value: Json, isGood: boolean): void {
  if (isJsonObject(value) && ['content', 'contents', 'messages'].some((name) => Array.isArray(value[name])))
    return printResult({ ...value, isError: !isGood });
  const text = typeof value === 'string' ? clean(value) : jsonText(value, 2);
  if (isGood) console.log(text);
  else console.error(text);
}

export async function storyOf({ desk }: At, id: string): Promise<TaskStory> {
  const story = await desk.story(id);
  if (!story)
    throw new CommandFailed(
      `There is no task ${oneLine(id)}: it may have been purged, or be somewhere else. \`${command()} tasks list\` with the same --store or --url shows those that there are.`,
    );
  return story;
}

export async function cancel(at: At, id: string): Promise<number> {
  const { task } = await storyOf(at, id);
  refuseIfOver(task, 'cancelled');
  const after = await at.desk.cancel(id, at.values.reason);
  return told(at, after, after.standing === 'cancelled' ? `Cancelled ${id}.` : `${id} is ${after.standing}.`);
}

export async function retry(at: At, id: string): Promise<number> {
  await storyOf(at, id);
  const again = await at.desk.retry(id);
  return told(at, again, `Retried as ${again.id}.`);
}

export async function purge(at: At, id: string): Promise<number> {
  await storyOf(at, id);
  await at.desk.purge(id);
  console.log(at.values.json ? jsonText({ removed: [id] }) : clean(`Purged ${id}.`));
  return 0;
}

function told({ values }: At, task: TaskSummary, words: string): number {
  console.log(values.json ? jsonText(task) : clean(words));
  return 0;
}

function refuseIfOver({ id, standing, finishedAt }: TaskSummary, what: string): void {
  if (finishedAt !== undefined)
    throw new CommandFailed(`Task ${id} is over (${standing}), and cannot be ${what} any more.`);
}

// --- Answers ----------------------------------------------------------------------------------------------

/** What follows the id: the key if there is more than one question, and the answer. */
export async function answer(at: At, id: string, words: readonly string[]): Promise<number> {
  const { desk, values } = at;
  const { key: givenKey, json } = keyAndAnswer(words, values.decline ?? false);
  const { task, questions } = await storyOf(at, id);
  const question = questionOf(task, questions, givenKey);
  const response = values.decline
    ? { action: 'decline' }
    : json === undefined
      ? await asked(question, at, id)
      : responseTo(question, json);
  const after = await desk.answer(id, question.key, response);
  return told(at, after, `Answered "${oneLine(question.key)}".`);
}

function keyAndAnswer(
  words: readonly string[],
  isDeclined: boolean,
): { readonly key?: string; readonly json?: Json } {
  const [first, second] = words;
  if (isDeclined && second !== undefined) throw new WrongUsage('--decline takes no answer beside it');
  if (first === undefined) return {};
  if (second !== undefined) return { key: first, json: readJson(second, 'an answer') as Json };
  // A key of its own is one that is no JSON.
  if (isDeclined || !/^\s*(\{|null\s*$)/.test(first)) return { key: first };
  return { json: readJson(first, 'an answer') as Json };
}

function questionOf(task: TaskSummary, questions: readonly Question[], key: string | undefined): Question {
  const open = questions.filter(({ state }) => state === 'open');
  if (open.length === 0)
    throw new CommandFailed(
      `Task ${task.id} asks nothing${task.finishedAt === undefined ? ' at the moment' : ': it is over'}.`,
    );
  const keys = open.map((question) => `"${oneLine(question.key)}"`).join(', ');
  if (key === undefined) {
    if (open.length > 1) throw new WrongUsage(`it asks ${keys}: say which of them before the answer`);
    return open[0]!;
  }
  const found = open.find((question) => question.key === key);
  if (!found) throw new CommandFailed(`Task ${task.id} does not ask "${oneLine(key)}": it asks ${keys}.`);
  return found;
}

/** Fields of a form as they are; `null` declines; a model's words and roots as MCP has them. */
function responseTo({ key, request }: Question, given: Json): JsonObject {
  if (given === null) return { action: 'decline' };
  if (!isJsonObject(given))
    throw new WrongUsage(`the answer to "${key}" is a JSON object, or null to decline`);
  if (request.kind === 'url') return { action: 'accept' };
  return request.kind === 'form' ? { action: 'accept', content: given } : given;
}

/** Field by field, where somebody sits who can be asked. */
async function asked(
  { key, request }: Question,
  { sight, place, values }: At,
  id: string,
): Promise<JsonObject> {
  const isForPeople = request.kind === 'form' || request.kind === 'url';
  if (!sight.terminal || !sight.keys || !isForPeople || values.json) {
    const example = exampleOf({ taskId: id, key, ...request });
    throw new WrongUsage(
      `"${oneLine(key)}" needs an answer: ${command()} tasks answer ${id} ${quoted(oneLine(key))} ${example} ${place}, or --decline`,
    );
  }
  const left = new AbortController();
  const desk = {
    input: sight.keys,
    output: sight.terminal,
    paint: sight.paint,
    onInterrupt: () => left.abort(new CommandFailed('Nothing was answered.')),
  };
  return ask({ taskId: id, key, ...request }, left.signal, desk);
}
