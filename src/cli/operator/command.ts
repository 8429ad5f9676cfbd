/** `holdfast tasks … --store URL` and `--url URL`: the tasks of a whole store or server, for those who operate it. */

import { isJsonObject, type Json, type JsonObject } from '../../model/json.ts';
import { pagesOf } from '../../model/paging.ts';
import type { Question, TaskDetails, TaskSummary } from '../../operator/api.ts';
import { ask } from '../calls/ask.ts';
import { jsonText, printJson, printResult } from '../output.ts';
import { CommandFailed, command, readArguments, readJson, WrongUsage } from '../usage.ts';
import { clean, oneLine } from '../views/terminal-text.ts';
import { answerCommand, drawStory, whyEnded } from './draw-task.ts';
import { list } from './list.ts';
import { type At, openDesk, standAt } from './open-operator.ts';
import { operatorOptions, refuseStrayOptions, verbs } from './options.ts';
import { watchAll, watchOne } from './watch.ts';

const fewestLetters = 8;
const wholeLength = 32;
const mostPages = 20;

type OnOne = (at: At, id: string, more: readonly string[]) => Promise<number>;

const onOne: Readonly<Record<string, OnOne>> = {
  show: async (at, id) => {
    const story = await storyOf(at, id);
    at.sayWhatIsHidden();
    if (at.values.json) printJson(story);
    else at.sight.print(drawStory(story, at.look()));
    return 0;
  },
  watch: async (at, id) => watchOne(at, await storyOf(at, id)),
  result,
  cancel,
  retry,
  answer,
  purge,
};

export async function operatorTasks(args: readonly string[], help: string): Promise<number> {
  const { values, positionals } = readArguments(args, help, operatorOptions);
  const [verb, id, ...more] = positionals;
  if (verb === undefined) throw new WrongUsage('tasks takes a command, such as list or watch');
  if (!verbs.includes(verb))
    throw new WrongUsage(
      `tasks has no command "${verb}" with --store or --url: there are ${verbs.join(', ')}`,
    );
  refuseStrayOptions(verb, values);
  if (verb === 'list' && id !== undefined) throw new WrongUsage(`list takes no "${id}": --text finds tasks`);
  if (id === undefined && verb !== 'list' && verb !== 'watch')
    throw new WrongUsage(`${verb} takes the id of a task`);
  const extra = more[verb === 'answer' ? 2 : 0];
  if (extra !== undefined) throw new WrongUsage(`${verb} takes no "${extra}"`);
  if (verb === 'purge' && !values.yes)
    throw new WrongUsage('purge removes a task and its results for good: say --yes too');

  await using opened = await openDesk(values);
  const at = await standAt(opened, values, verb === 'watch');
  if (verb === 'list') return await list(at);
  if (id === undefined) return await watchAll(at);
  return await onOne[verb]!(at, await wholeId(at, id), more);
}

/**
 * A beginning will do if it is one of a call, or of a subtask that asks, and no other has it; other subtasks are found
 * by their whole id only.
 */
async function wholeId({ desk }: At, id: string): Promise<string> {
  if (id.length >= wholeLength || !/^[a-z2-7]+$/.test(id)) return id;
  if (id.length < fewestLetters)
    throw new WrongUsage(`"${oneLine(id)}" is too short: give ${fewestLetters} letters or more of an id`);
  const found = new Set<string>();
  for (const filter of [{ text: id, standings: ['waiting'] }, { text: id }] as const) {
    let pages = 0;
    for await (const page of pagesOf((from) => desk.list({ ...filter, limit: 100, ...from }))) {
      for (const task of page.tasks) if (task.id.startsWith(id)) found.add(task.id);
      if (found.size > 1)
        throw new WrongUsage(`several tasks have an id that begins with ${id}: give more of it`);
      // Whether there is another cannot be known before the end is reached.
      if (++pages === mostPages && page.nextCursor !== undefined)
        throw new CommandFailed(
          `There are too many tasks to look for ${id} in all of them: give the whole id.`,
        );
    }
  }
  const [only] = found;
  if (only !== undefined) return only;
  throw new CommandFailed(
    `No task has an id that begins with ${id}; of a subtask that asks nothing the whole id is needed.`,
  );
}

// --- What is done to a task ---------------------------------------------------------------------------------

async function result(at: At, id: string): Promise<number> {
  const { desk, values } = at;
  const outcome = await desk.result(id);
  if (!outcome) {
    const { task } = await storyOf(at, id);
    throw new CommandFailed(
      `Task ${id} has no result yet: it is ${task.status}. \`${command()} tasks watch ${id} ${at.place}\` waits for its end.`,
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

async function storyOf({ desk }: At, id: string): Promise<TaskDetails> {
  const story = await desk.details(id);
  if (!story)
    throw new CommandFailed(
      `There is no task ${oneLine(id)}: it may have been purged, or be somewhere else. \`${command()} tasks list\` with the same --store or --url shows those that there are.`,
    );
  return story;
}

async function cancel(at: At, id: string): Promise<number> {
  const { status: standing, finishedAt } = (await storyOf(at, id)).task;
  if (finishedAt !== undefined)
    throw new CommandFailed(`Task ${id} is over (${standing}), and cannot be cancelled any more.`);
  const after = await at.desk.cancel(id, at.values.reason);
  return told(at, after, after.status === 'cancelled' ? `Cancelled ${id}.` : `${id} is ${after.status}.`);
}

async function retry(at: At, id: string): Promise<number> {
  await storyOf(at, id);
  const again = await at.desk.retry(id);
  return told(at, again, `Retried as ${again.id}.`);
}

async function purge(at: At, id: string): Promise<number> {
  await storyOf(at, id);
  await at.desk.purge(id);
  console.log(at.values.json ? jsonText({ removed: [id] }) : clean(`Purged ${id}.`));
  return 0;
}

function told({ values }: At, task: TaskSummary, words: string): number {
  console.log(values.json ? jsonText(task) : clean(words));
  return 0;
}

// --- Answers ----------------------------------------------------------------------------------------------

/** What follows the id: the key if there is more than one question, and the answer. */
async function answer(at: At, id: string, words: readonly string[]): Promise<number> {
  const { desk, values } = at;
  const { key, json } = keyAndAnswer(words, values.decline);
  const question = questionOf(await storyOf(at, id), key);
  const response = values.decline
    ? { action: 'decline' }
    : json === undefined
      ? await asked(question, at, id)
      : responseTo(question, json);
  const after = await desk.answer(id, question.key, response);
  return told(at, after, `Answered "${oneLine(question.key)}".`);
}

function keyAndAnswer([first, second]: readonly string[], isDeclined = false): { key?: string; json?: Json } {
  if (isDeclined && second !== undefined) throw new WrongUsage('--decline takes no answer beside it');
  if (first === undefined) return {};
  if (second !== undefined) return { key: first, json: readJson(second, 'an answer') as Json };
  // A word that is not JSON is the key.
  if (isDeclined || !/^\s*(\{|null\s*$)/.test(first)) return { key: first };
  return { json: readJson(first, 'an answer') as Json };
}

function questionOf({ task, questions }: TaskDetails, key: string | undefined): Question {
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
async function asked(question: Question, { sight, place, values }: At, id: string): Promise<JsonObject> {
  const { key, request } = question;
  const isForPeople = request.kind === 'form' || request.kind === 'url';
  if (!sight.terminal || !sight.keys || !isForPeople || values.json)
    throw new WrongUsage(
      `"${oneLine(key)}" needs an answer: ${answerCommand(question, id, place)}, or --decline`,
    );
  const left = new AbortController();
  const desk = {
    input: sight.keys,
    output: sight.terminal,
    paint: sight.paint,
    onInterrupt: () => left.abort(new CommandFailed('Nothing was answered.')),
  };
  return ask({ taskId: id, key, ...request }, left.signal, desk);
}
