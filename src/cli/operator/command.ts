/** `holdfast tasks … --store URL` and `--url URL`: all tasks of a store or server, for operators. */

import { isJsonObject, type Json, type JsonObject } from '../../model/json.ts';
import { pagesOf } from '../../model/paging.ts';
import type { Question, TaskDetails, TaskSummary } from '../../operator/api.ts';
import { ask } from '../calls/ask.ts';
import { jsonText, printJson, printResult } from '../output.ts';
import { CommandFailed, command, readArguments, readJson, WrongUsage } from '../usage.ts';
import { clean, oneLine } from '../views/terminal-text.ts';
import { answerCommand, drawTask, whyEnded } from './draw-task.ts';
import { list } from './list.ts';
import { openOperator, type Session, startSession } from './open-operator.ts';
import { operatorOptions, refuseStrayOptions, verbs } from './options.ts';
import { watchAll, watchOne } from './watch.ts';

/** The minimum length of an abbreviated id. */
const minIdLength = 8;
const fullIdLength = 32;
/** How many pages of tasks are searched for an abbreviated id. */
const maxPages = 20;

/** A command on one task. `more` are the arguments after the id. Returns the exit code. */
type OnOne = (session: Session, id: string, more: readonly string[]) => Promise<number>;

const taskCommands: Readonly<Record<string, OnOne>> = {
  show: async (session, id) => {
    const details = await detailsOf(session, id);
    session.warnIfHidden();
    if (session.values.json) printJson(details);
    else session.output.print(drawTask(details, session.style()));
    return 0;
  },
  watch: async (session, id) => watchOne(session, await detailsOf(session, id)),
  result,
  cancel,
  retry,
  answer,
  purge,
};

export async function operatorTasks(args: readonly string[], help: string): Promise<number> {
  const { values, positionals } = readArguments(args, help, operatorOptions);
  const [verb, id, ...more] = positionals;
  if (verb === undefined) throw new WrongUsage('tasks needs a command, such as list or watch');
  if (!verbs.includes(verb))
    throw new WrongUsage(`unknown command: tasks ${verb} with --store or --url; use ${verbs.join(', ')}`);
  refuseStrayOptions(verb, values);
  if (verb === 'list' && id !== undefined)
    throw new WrongUsage(`unexpected argument "${id}" for list: use --text to search tasks`);
  if (id === undefined && verb !== 'list' && verb !== 'watch')
    throw new WrongUsage(`${verb} needs the id of a task`);
  // Only `answer` takes more arguments: a key and JSON.
  const extra = more[verb === 'answer' ? 2 : 0];
  if (extra !== undefined) throw new WrongUsage(`unexpected argument "${extra}" for ${verb}`);
  if (verb === 'purge' && !values.yes)
    throw new WrongUsage('purge deletes a task and its result permanently: add --yes to confirm');

  await using opened = await openOperator(values);
  const session = await startSession(opened, values, verb === 'watch');
  if (verb === 'list') return await list(session);
  if (id === undefined) return await watchAll(session);
  return await taskCommands[verb]!(session, await fullId(session, id), more);
}

/** Resolves a unique prefix of the id of a root task or of a subtask with a question. Other subtasks need the full id. */
async function fullId({ operator }: Session, id: string): Promise<string> {
  if (id.length >= fullIdLength || !/^[a-z2-7]+$/.test(id)) return id;
  if (id.length < minIdLength)
    throw new WrongUsage(`"${oneLine(id)}" is too short: give at least ${minIdLength} letters of an id`);
  const found = new Set<string>();
  // Without the status filter a list contains only root tasks.
  for (const filter of [{ text: id, statuses: ['waiting'] }, { text: id }] as const) {
    let pages = 0;
    for await (const page of pagesOf((from) => operator.list({ ...filter, limit: 100, ...from }))) {
      for (const task of page.tasks) if (task.id.startsWith(id)) found.add(task.id);
      if (found.size > 1)
        throw new WrongUsage(`several tasks have an id that begins with ${id}: give more letters`);
      // The prefix is only known to be unique after the last page.
      if (++pages === maxPages && page.nextCursor !== undefined)
        throw new CommandFailed(`There are too many tasks to search for ${id}: give the full id.`);
    }
  }
  const [only] = found;
  if (only !== undefined) return only;
  throw new CommandFailed(
    `No task has an id that begins with ${id}. A subtask without questions needs its full id.`,
  );
}

// --- Commands on one task -----------------------------------------------------------------------------------

async function result(session: Session, id: string): Promise<number> {
  const { operator, values } = session;
  const outcome = await operator.result(id);
  if (!outcome) {
    const { task } = await detailsOf(session, id);
    throw new CommandFailed(
      `Task ${id} has no result yet (status: ${task.status}). Wait for it with \`${command()} tasks watch ${id} ${session.source}\`.`,
    );
  }
  session.warnIfHidden();
  const isGood = outcome.kind === 'result' && !outcome.isError;
  if (values.json) printJson(outcome);
  else if (outcome.kind !== 'result') throw new CommandFailed(whyEnded(outcome));
  else printValue(outcome.value, isGood);
  return isGood ? 0 : 1;
}

/** Prints the text of a result, or its JSON if it has no text. */
function printValue(value: Json, isGood: boolean): void {
  if (isJsonObject(value) && ['content', 'contents', 'messages'].some((name) => Array.isArray(value[name])))
    return printResult({ ...value, isError: !isGood });
  const text = typeof value === 'string' ? clean(value) : jsonText(value, 2);
  if (isGood) console.log(text);
  else console.error(text);
}

async function detailsOf({ operator }: Session, id: string): Promise<TaskDetails> {
  const details = await operator.details(id);
  if (!details)
    throw new CommandFailed(
      `There is no task ${oneLine(id)} here; it may have been purged. List the tasks with \`${command()} tasks list\` and the same --store or --url.`,
    );
  return details;
}

async function cancel(session: Session, id: string): Promise<number> {
  const { status, finishedAt } = (await detailsOf(session, id)).task;
  if (finishedAt !== undefined)
    throw new CommandFailed(`Task ${id} has already finished (${status}) and cannot be cancelled.`);
  const after = await session.operator.cancel(id, session.values.reason);
  return printChanged(
    session,
    after,
    after.status === 'cancelled' ? `Cancelled ${id}.` : `${id} is now ${after.status}.`,
  );
}

async function retry(session: Session, id: string): Promise<number> {
  // Throws a clear error if the task does not exist.
  await detailsOf(session, id);
  const again = await session.operator.retry(id);
  return printChanged(session, again, `Retried as ${again.id}.`);
}

async function purge(session: Session, id: string): Promise<number> {
  // Throws a clear error if the task does not exist.
  await detailsOf(session, id);
  await session.operator.purge(id);
  console.log(session.values.json ? jsonText({ removed: [id] }) : clean(`Purged ${id}.`));
  return 0;
}

function printChanged({ values }: Session, task: TaskSummary, words: string): number {
  console.log(values.json ? jsonText(task) : clean(words));
  return 0;
}

// --- Answers ----------------------------------------------------------------------------------------------

/**
 * `words` are the key and the answer as JSON, both optional. The key is required if there are several questions.
 * Without an answer the question is asked at the terminal.
 */
async function answer(session: Session, id: string, words: readonly string[]): Promise<number> {
  const { operator, values } = session;
  const { key, json } = keyAndAnswer(words, values.decline);
  const question = questionOf(await detailsOf(session, id), key);
  const response = values.decline
    ? { action: 'decline' }
    : json === undefined
      ? await askAtTerminal(question, session, id)
      : responseTo(question, json);
  const after = await operator.answer(id, question.key, response);
  return printChanged(session, after, `Answered "${oneLine(question.key)}".`);
}

function keyAndAnswer([first, second]: readonly string[], isDeclined = false): { key?: string; json?: Json } {
  if (isDeclined && second !== undefined)
    throw new WrongUsage('--decline and an answer cannot be used together');
  if (first === undefined) return {};
  if (second !== undefined) return { key: first, json: readJson(second, 'an answer') as Json };
  // An argument that is not JSON is the key.
  if (isDeclined || !/^\s*(\{|null\s*$)/.test(first)) return { key: first };
  return { json: readJson(first, 'an answer') as Json };
}

function questionOf({ task, questions }: TaskDetails, key: string | undefined): Question {
  const open = questions.filter(({ state }) => state === 'open');
  if (open.length === 0)
    throw new CommandFailed(
      `Task ${task.id} has no open questions${task.finishedAt === undefined ? '' : ': it has finished'}.`,
    );
  const keys = open.map((question) => `"${oneLine(question.key)}"`).join(', ');
  if (key === undefined) {
    if (open.length > 1)
      throw new WrongUsage(`there are several open questions: give the key, ${keys}, before the answer`);
    return open[0]!;
  }
  const found = open.find((question) => question.key === key);
  if (!found)
    throw new CommandFailed(`Task ${task.id} has no open question "${oneLine(key)}", only ${keys}.`);
  return found;
}

/**
 * Converts JSON to a response: the fields of a form, `null` to decline, or a sampling or roots result as in MCP. Any
 * object accepts a link.
 */
function responseTo({ key, request }: Question, given: Json): JsonObject {
  if (given === null) return { action: 'decline' };
  if (!isJsonObject(given))
    throw new WrongUsage(`the answer to "${key}" must be a JSON object, or null to decline`);
  if (request.kind === 'url') return { action: 'accept' };
  return request.kind === 'form' ? { action: 'accept', content: given } : given;
}

/** Asks field by field. Throws if there is no terminal, or if this kind of question cannot be asked there. */
async function askAtTerminal(
  question: Question,
  { output, source, values }: Session,
  id: string,
): Promise<JsonObject> {
  const { key, request } = question;
  const canAsk = request.kind === 'form' || request.kind === 'url';
  if (!output.terminal || !output.keys || !canAsk || values.json)
    throw new WrongUsage(
      `"${oneLine(key)}" needs an answer: ${answerCommand(question, id, source)}, or --decline`,
    );
  const interrupted = new AbortController();
  const terminal = {
    input: output.keys,
    output: output.terminal,
    paint: output.paint,
    onInterrupt: () => interrupted.abort(new CommandFailed('The question was not answered.')),
  };
  return ask({ taskId: id, key, ...request }, interrupted.signal, terminal);
}
