/** `holdfast tasks`: calls that were made on this machine, and what became of them. */

import type { TaskHandle } from '../../client/call-handle.ts';
import type { CallRecord, CallRegistry } from '../../client/call-registry.ts';
import { type Answer, asQuestion, type Question } from '../../client/questions/question-callback.ts';
import type { TaskClient } from '../../client/task-client.ts';
import type { JsonObject } from '../../model/json.ts';
import { TaskCancelled, UnknownQuestion } from '../../remote-tasks/errors.ts';
import { resultOf } from '../../remote-tasks/remote-outcome.ts';
import type { PolledTask } from '../../remote-tasks/task-poller.ts';
import { runtime } from '../../runtime/runtime.ts';
import { attend } from '../calls/follow-call.ts';
import { exampleOf, givenAnswers } from '../calls/given-answers.ts';
import { comeBackWith, openRegistry, printTable, recordOf, statusOf, toolOf } from '../calls/registry.ts';
import { connectTo, described, headersFrom, type Target, targetKept } from '../calls/target.ts';
import { operatorHelp } from '../operator/options.ts';
import { jsonText, printJson, textOf } from '../output.ts';
import { age, dayAndTime } from '../time.ts';
import { type Arguments, CommandFailed, readArguments, WrongUsage } from '../usage.ts';
import { jsonView, lookOn, plainView, viewOptions } from '../views/call-view.ts';
import { clean, number, oneLine } from '../views/terminal-text.ts';

const help = `Calls that were made on this machine: what became of them, and how to come back to them.

Usage: holdfast tasks list [--all]     those whose result nobody has seen; with --all, the others too
       holdfast tasks show ID          all that is known of one, from its server if that can be reached
       holdfast tasks watch ID         come back to it, as if it had never been left
       holdfast tasks result ID        wait for its result and print nothing else
       holdfast tasks answer ID JSON   answer what it asks: the fields of a form, or answers by key; null declines
       holdfast tasks cancel ID        ask its server to end it
       holdfast tasks forget ID        strike it off the list; the task itself is not touched

The first 6 letters of an ID will do if no other begins with them.

  --all            with list: delivered results too
  --answer JSON    with watch and result: as for a call
  --handles FILE   where calls are written down (default: in the data folder of the user)
  --header HEADER  'Name: value' for the server; headers are never written down and have to be given again
  --json           tell everything as JSON, one object per line, and ask nothing
  --no-color       no colours; NO_COLOR in the environment does the same
  -h, --help       say this

${operatorHelp}`;

const options = {
  all: { type: 'boolean' },
  answer: { type: 'string', multiple: true },
  handles: { type: 'string' },
  header: { type: 'string', multiple: true },
  ...viewOptions,
} as const;

type Values = Arguments<typeof options>['values'];

/** A call that a command is about. */
interface OnCall {
  readonly record: CallRecord;
  readonly handles: CallRegistry;
  readonly values: Values;
  /** How its server is reached; refuses if nobody knows, or if headers are missing. */
  target(): Target;
  /** What follows the id. */
  readonly more: string | undefined;
}

const onOne: Readonly<Record<string, (on: OnCall) => Promise<number> | number>> = {
  watch: (on) => come(on, lookOn(on.values)),
  result: (on) =>
    come(on, { view: on.values.json ? jsonView : plainView({ isQuiet: true }), desk: undefined }),
  show,
  answer,
  cancel,
  forget: ({ record: { id }, handles, values: { json } }) => {
    handles.delete(id);
    console.log(json ? jsonText({ event: 'forgotten', id }) : `Forgot ${id}.`);
    return 0;
  },
};

export async function tasks(args: readonly string[]): Promise<number> {
  // Of whole stores and servers, not of what was called here.
  if (args.some((arg) => /^--(store|url)(=|$)/.test(arg)))
    return (await import('../operator/command.ts')).operatorTasks(args, help);
  const { values, positionals } = readArguments(args, help, options);
  const [verb, id, more, ...rest] = positionals;
  if (verb === undefined) throw new WrongUsage('tasks takes a command, such as list or watch');
  const isList = verb === 'list';
  const command = Object.hasOwn(onOne, verb) ? onOne[verb] : undefined;
  if (!isList && !command)
    throw new WrongUsage(
      verb === 'retry' || verb === 'purge'
        ? `${verb} is for operators: say --store URL or --url URL too`
        : `tasks has no command "${verb}"`,
    );
  if (!isList && id === undefined) throw new WrongUsage(`${verb} takes the id of a call`);
  const extra = isList ? id : verb === 'answer' ? rest[0] : more;
  if (extra !== undefined) throw new WrongUsage(`${verb} takes no "${extra}"`);
  const headers = headersFrom(values.header);
  const handles = await openRegistry(values.handles);
  try {
    if (isList) return list(handles, values);
    const record = recordOf(id!, handles);
    const target = () => targetKept(record.target, headers);
    return await command!({ record, handles, values, more, target });
  } finally {
    handles.close();
  }
}

function list(handles: CallRegistry, { json, all }: Values): number {
  const records = handles.list({ onlyOpen: !all });
  if (json)
    for (const record of records) {
      const { id, taskId, server, createdAt, isDelivered } = record;
      const [tool, status] = [toolOf(record), statusOf(record)];
      printJson({ id, taskId, server, tool, status, createdAt, isDelivered });
    }
  else printTable(records, handles);
  return 0;
}

/** What is over is here already; everything else is at its server. */
async function come(
  { record, handles, values, target }: OnCall,
  look: ReturnType<typeof lookOn>,
): Promise<number> {
  const given = givenAnswers(values.answer);
  const { view } = look;
  if (!record.ending)
    return attend({ ...look, handles, given, target: target() }, (tasks) => tasks.resume(record.id));
  view.called?.({ id: record.id, tool: toolOf(record), since: record.createdAt });
  let result: JsonObject;
  try {
    result = resultOf(record.taskId ?? record.id, record.ending);
  } catch (error) {
    const message = oneLine((error as Error).message);
    view.failed?.(record.id, message, (error as { rpcCode?: number }).rpcCode);
    throw new CommandFailed(message);
  } finally {
    handles.save({ ...record, isDelivered: true });
  }
  view.result(record.id, result);
  return result.isError ? 1 : 0;
}

// --- Coming back for a moment -------------------------------------------------------------------------------

/** A command that only shows a call does not wait for a server that is away. */
const patience = '5s';
const never = new Promise<never>(() => {});

async function visiting<T>(
  { record, handles }: OnCall,
  target: Target,
  onQuestion: (question: Question) => Promise<never> | Answer,
  visit: (handle: TaskHandle, tasks: TaskClient) => Promise<T>,
): Promise<T> {
  const tasks = await connectTo(target, {
    registry: handles,
    answer: onQuestion,
    reconnectTimeout: patience,
  });
  try {
    return await visit(await tasks.resume(record.id), tasks);
  } catch (error) {
    throw error instanceof CommandFailed ? error : new CommandFailed(oneLine((error as Error).message));
  } finally {
    await tasks.close().catch(() => {});
  }
}

/** Whether every task of a tree has been looked at once. */
function isSeen({ task, children }: PolledTask): boolean {
  return children.length === task.childIds.length && children.every(isSeen);
}

/** Whether any task of a tree waits for an answer. */
function isAsked({ task, children }: PolledTask): boolean {
  return task.status === 'input_required' || children.some(isAsked);
}

// --- Answering --------------------------------------------------------------------------------------------

async function answer(on: OnCall): Promise<number> {
  const { more } = on;
  if (more === undefined) throw new WrongUsage('an answer takes the id of a call and JSON');
  const answers = givenAnswers([more], 'an answer');
  const { id } = notOver(on);
  const answered: Question[] = [];
  const refused = Promise.withResolvers<never>();
  refused.promise.catch(() => {});
  const onQuestion = (question: Question) => {
    const { key, problem } = question;
    const given = problem === undefined ? answers(question) : undefined;
    if (given) {
      answered.push(question);
      return given as Answer;
    }
    refused.reject(
      new CommandFailed(
        problem === undefined
          ? `It asks "${oneLine(key)}" too, and there is no answer to that.`
          : `The server refused the answer to "${oneLine(key)}": ${oneLine(problem)}`,
      ),
    );
    return never;
  };
  await visiting(on, on.target(), onQuestion, (handle) =>
    Promise.race([untilTaken(handle, () => answered.length > 0), refused.promise]),
  );
  for (const { key } of answered)
    console.log(on.values.json ? jsonText({ event: 'answered', id, key }) : `Answered "${oneLine(key)}".`);
  return 0;
}

/** Until what was answered has been taken, or it is clear that nothing is asked. */
async function untilTaken(handle: TaskHandle, isAnswered: () => boolean): Promise<void> {
  for await (const update of handle.updates()) {
    if (update.type === 'unreachable') throw new CommandFailed(oneLine(update.why));
    if (update.type === 'answered') return;
    const tree = handle.tree();
    if (!tree || !isSeen(tree) || isAsked(tree)) continue;
    // In 2025-11-25 a question comes as a request, and only the status tells that its answer was taken.
    if (isAnswered()) return;
    throw new CommandFailed('It asks nothing at the moment.');
  }
  if (!isAnswered()) throw new CommandFailed('It is over, and asks nothing.');
}

// --- Cancelling -------------------------------------------------------------------------------------------

async function cancel(on: OnCall): Promise<number> {
  const { id } = notOver(on);
  const unanswered = () => never;
  return visiting(on, on.target(), unanswered, async (handle, tasks) => {
    await handle.cancel();
    try {
      await handle.result().catch(async (error: unknown) => {
        // It may have been seen before the server took the cancellation.
        if (!(error instanceof UnknownQuestion)) throw error;
        await (await tasks.resume(id)).result();
      });
    } catch (error) {
      if (!(error instanceof TaskCancelled)) throw error;
      console.log(on.values.json ? JSON.stringify({ event: 'cancelled', id }) : `Cancelled ${id}.`);
      return 0;
    }
    throw new CommandFailed(
      'It was done before it could be cancelled; `holdfast tasks result` prints what came of it.',
    );
  });
}

function notOver({ record }: OnCall): CallRecord {
  if (record.ending) throw new CommandFailed(`It is over: ${statusOf(record)}.`);
  return record;
}

// --- Showing ----------------------------------------------------------------------------------------------

interface Found {
  readonly tree?: PolledTask | undefined;
  readonly asked: readonly Question[];
  /** Where it was found. */
  readonly target?: Target;
}

/** All that is known of one call. */
async function show(on: OnCall): Promise<number> {
  const { record, handles } = on;
  let found: Found = { asked: [] };
  let problem: Error | undefined;
  if (!record.ending)
    try {
      const target = on.target();
      found = { asked: [], target };
      found = await lookedAt(on, target);
    } catch (error) {
      if (error instanceof WrongUsage) throw error;
      problem = error as Error;
    }
  const known = handles.get(record.id) ?? record;
  if (on.values.json) printJson(asJson(known, found));
  else for (const line of asLines(known, handles, found)) console.log(line);
  if (problem) throw problem;
  return 0;
}

/** The whole tree, each of its tasks once. */
async function lookedAt(on: OnCall, target: Target): Promise<Found> {
  const asked: Question[] = [];
  const onQuestion = (question: Question) => {
    asked.push(question);
    return never;
  };
  const tree = await visiting(on, target, onQuestion, async (handle) => {
    for await (const _ of handle.updates()) {
      const tree = handle.tree();
      // Where questions come as requests the look is over before they are here; its status tells of them.
      if (tree && isSeen(tree)) break;
    }
    return handle.tree();
  });
  return { tree, target, asked: tree ? questionsIn(tree) : asked };
}

function questionsIn({ task, children }: PolledTask): Question[] {
  const own = Object.entries(task.questions).map(([key, request]) =>
    asQuestion({ taskId: task.taskId, key, ...request }),
  );
  return [...own.filter((question) => question !== undefined), ...children.flatMap(questionsIn)];
}

function asJson(record: CallRecord, { tree, asked }: Found) {
  const { id, taskId, server, target, params, createdAt, isDelivered, ending } = record;
  return {
    id,
    taskId,
    server,
    target,
    tool: toolOf(record),
    arguments: params.arguments,
    status: seenStatus(record, tree),
    createdAt,
    isDelivered,
    ending,
    task: tree?.task,
    questions: asked,
    subtasks: tree?.children,
  };
}

function* asLines(
  record: CallRecord,
  handles: CallRegistry,
  { tree, asked, target }: Found,
): Iterable<string> {
  const row = (name: string, value: string) => `${name.padEnd(10)}${value}`;
  const { id, taskId, server, params, createdAt, ending } = record;
  yield row('id', id);
  if (taskId !== undefined) yield row('task', oneLine(taskId));
  yield row('server', `${oneLine(server)}${target ? ` at ${described(target)}` : ''}`);
  yield row('tool', `${toolOf(record)} ${oneLine(JSON.stringify(params.arguments ?? {}))}`);
  yield row('called', `${age(runtime.now() - createdAt)} ago, ${dayAndTime(createdAt)}`);
  const { message, progress } = tree?.task ?? {};
  yield row('status', withMessage(seenStatus(record, tree), message));
  if (progress && !ending) {
    const of = progress.total === undefined ? '' : ` of ${number(progress.total)}`;
    yield row('progress', `${number(progress.progress)}${of}`);
  }
  for (const question of asked) {
    yield row('asks', `${oneLine(question.key)}: ${oneLine('message' in question ? question.message : '')}`);
    const place = { handles, ...(target && { target }) };
    yield row('', `answer with: ${comeBackWith('answer', id, place, exampleOf(question))}`);
  }
  if (tree && tree.children.length > 0) {
    yield 'subtasks';
    for (const child of tree.children) yield* below(child, 1);
  }
  if (ending?.kind === 'result')
    yield row('result', clean(textOf(ending.result)).replaceAll('\n', `\n${' '.repeat(10)}`));
}

/** How it ended, if that is known here; otherwise as its server has it, if that could be asked. */
function seenStatus(record: CallRecord, tree: PolledTask | undefined): string {
  return (record.ending ? undefined : tree?.task.status) ?? statusOf(record);
}

function withMessage(status: string, message: string | undefined): string {
  return message === undefined ? status : `${status}: ${oneLine(message)}`;
}

function* below({ task, children }: PolledTask, depth: number): Iterable<string> {
  const { taskId, status, message } = task;
  yield `${'  '.repeat(depth)}${oneLine(taskId).slice(0, 8)}  ${withMessage(status, message)}`;
  for (const child of children) yield* below(child, depth + 1);
}
