/** `holdfast tasks`: lists, resumes, answers and cancels calls made on this machine. */

import type { TaskHandle } from '../../client/call-handle.ts';
import type { CallRecord, CallRegistry } from '../../client/call-registry.ts';
import { type Answer, asQuestion, type Question } from '../../client/questions/question-callback.ts';
import type { TaskClient } from '../../client/task-client.ts';
import type { JsonObject } from '../../model/json.ts';
import { TaskCancelled, UnknownQuestion } from '../../remote-tasks/errors.ts';
import { resultOf } from '../../remote-tasks/remote-outcome.ts';
import type { PolledTask } from '../../remote-tasks/task-poller.ts';
import { runtime } from '../../runtime/runtime.ts';
import { followCall } from '../calls/follow-call.ts';
import { exampleOf, givenAnswers } from '../calls/given-answers.ts';
import { openRegistry, printTable, recordOf, resumeCommand, statusOf, toolOf } from '../calls/registry.ts';
import { connectTo, described, headersFrom, restoreTarget, type Target } from '../calls/target.ts';
import { operatorHelp } from '../operator/options.ts';
import { jsonText, printJson, textOf } from '../output.ts';
import { age, dayAndTime } from '../time.ts';
import { type Arguments, CommandFailed, readArguments, WrongUsage } from '../usage.ts';
import { jsonView, plainView, viewFor, viewOptions } from '../views/call-view.ts';
import { clean, number, oneLine } from '../views/terminal-text.ts';

const help = `Manages the calls that you made on this machine.

Usage: holdfast tasks list [--all]     list calls whose result you have not seen; with --all, all calls
       holdfast tasks show ID          show a call, with its current status if the server can be reached
       holdfast tasks watch ID         resume a call: progress, questions and result, like holdfast call
       holdfast tasks result ID        wait for the result and print only that
       holdfast tasks answer ID JSON   answer a question: the fields of a form, or answers by key; null declines
       holdfast tasks cancel ID        cancel the task on its server
       holdfast tasks forget ID        remove a call from the list; its task is not changed

An ID can be shortened to its first 6 letters if they are unique.

  --all            with list: include calls whose result was delivered
  --answer JSON    with watch and result: as in holdfast call
  --handles FILE   file in which calls are saved (default: in your data folder)
  --header HEADER  'Name: value' for the server; headers are not saved, so pass them again
  --json           print JSON, one object per line, and never ask
  --no-color       print without colours, as with NO_COLOR in the environment
  -h, --help       show this help

${operatorHelp}`;

const options = {
  all: { type: 'boolean' },
  answer: { type: 'string', multiple: true },
  handles: { type: 'string' },
  header: { type: 'string', multiple: true },
  ...viewOptions,
} as const;

type Values = Arguments<typeof options>['values'];

/** The call that a command is about, with the command's arguments. */
interface CallCommand {
  readonly record: CallRecord;
  readonly registry: CallRegistry;
  readonly values: Values;
  /** The server of the call. Throws if it was not saved or if headers are missing. */
  target(): Target;
  /** The argument after the id: the JSON of `answer`. */
  readonly more: string | undefined;
}

/** The commands on one call. Each returns the exit code. */
const callCommands: Readonly<Record<string, (on: CallCommand) => Promise<number> | number>> = {
  watch: (on) => resumeCall(on, viewFor(on.values)),
  result: (on) =>
    resumeCall(on, { view: on.values.json ? jsonView : plainView({ isQuiet: true }), terminal: undefined }),
  show,
  answer,
  cancel,
  forget: ({ record: { id }, registry, values: { json } }) => {
    registry.delete(id);
    console.log(json ? jsonText({ event: 'forgotten', id }) : `Forgot ${id}.`);
    return 0;
  },
};

export async function tasks(args: readonly string[]): Promise<number> {
  // These options select all tasks of a store or server, instead of the calls made on this machine.
  if (args.some((arg) => /^--(store|url)(=|$)/.test(arg)))
    return (await import('../operator/command.ts')).operatorTasks(args, help);
  const { values, positionals } = readArguments(args, help, options);
  const [verb, id, more, ...rest] = positionals;
  if (verb === undefined) throw new WrongUsage('tasks needs a command, such as list or watch');
  const isList = verb === 'list';
  const command = Object.hasOwn(callCommands, verb) ? callCommands[verb] : undefined;
  if (!isList && !command)
    throw new WrongUsage(
      verb === 'retry' || verb === 'purge'
        ? `${verb} is for operators: add --store URL or --url URL`
        : `unknown command: tasks ${verb}`,
    );
  if (!isList && id === undefined) throw new WrongUsage(`${verb} needs the id of a call`);
  const extra = isList ? id : verb === 'answer' ? rest[0] : more;
  if (extra !== undefined) throw new WrongUsage(`unexpected argument "${extra}" for ${verb}`);
  const headers = headersFrom(values.header);
  const registry = await openRegistry(values.handles);
  try {
    if (isList) return list(registry, values);
    const record = recordOf(id!, registry);
    const target = () => restoreTarget(record.target, headers);
    return await command!({ record, registry, values, more, target });
  } finally {
    registry.close();
  }
}

function list(registry: CallRegistry, { json, all }: Values): number {
  const records = registry.list({ onlyOpen: !all });
  if (json)
    for (const record of records) {
      const { id, taskId, server, createdAt, isDelivered } = record;
      const [tool, status] = [toolOf(record), statusOf(record)];
      printJson({ id, taskId, server, tool, status, createdAt, isDelivered });
    }
  else printTable(records, registry);
  return 0;
}

/** Follows an open call at its server. Prints a finished call from the registry. */
async function resumeCall(
  { record, registry, values, target }: CallCommand,
  output: ReturnType<typeof viewFor>,
): Promise<number> {
  const given = givenAnswers(values.answer);
  const { view } = output;
  if (!record.ending)
    return followCall({ ...output, registry, given, target: target() }, (tasks) => tasks.resume(record.id));
  view.called?.({ id: record.id, tool: toolOf(record), since: record.createdAt });
  let result: JsonObject;
  try {
    result = resultOf(record.taskId ?? record.id, record.ending);
  } catch (error) {
    const message = oneLine((error as Error).message);
    view.failed?.(record.id, message, (error as { rpcCode?: number }).rpcCode);
    throw new CommandFailed(message);
  } finally {
    registry.save({ ...record, isDelivered: true });
  }
  view.result(record.id, result);
  return result.isError ? 1 : 0;
}

// --- Short connections to the server of a call --------------------------------------------------------------

/** Short, because a command that only shows a call does not wait for an unavailable server. */
const reconnectTimeout = '5s';
/** Leaves a question open: it is neither answered nor refused. */
const never = new Promise<never>(() => {});

/**
 * Connects to the server, resumes the call, and passes its handle to `visit`. Then closes the connection: the task
 * continues.
 */
async function withHandle<T>(
  { record, registry }: CallCommand,
  target: Target,
  onQuestion: (question: Question) => Promise<never> | Answer,
  visit: (handle: TaskHandle, tasks: TaskClient) => Promise<T>,
): Promise<T> {
  const tasks = await connectTo(target, {
    registry,
    answer: onQuestion,
    reconnectTimeout,
  });
  try {
    return await visit(await tasks.resume(record.id), tasks);
  } catch (error) {
    throw error instanceof CommandFailed ? error : new CommandFailed(oneLine((error as Error).message));
  } finally {
    await tasks.close().catch(() => {});
  }
}

/** True once every task of a tree has been read. */
function isLoaded({ task, children }: PolledTask): boolean {
  return children.length === task.childIds.length && children.every(isLoaded);
}

/** True if any task of a tree waits for an answer. */
function hasQuestion({ task, children }: PolledTask): boolean {
  return task.status === 'input_required' || children.some(hasQuestion);
}

// --- Answering --------------------------------------------------------------------------------------------

async function answer(on: CallCommand): Promise<number> {
  const { more } = on;
  if (more === undefined) throw new WrongUsage('answer needs the id of a call and JSON');
  const answers = givenAnswers([more], 'an answer');
  const { id } = requireOpen(on);
  const answered: Question[] = [];
  const refused = Promise.withResolvers<never>();
  refused.promise.catch(() => {});
  const onQuestion = (question: Question) => {
    const { key, problem } = question;
    // A problem means that the server refused the given answer, so it is not sent again.
    const given = problem === undefined ? answers(question) : undefined;
    if (given) {
      answered.push(question);
      return given as Answer;
    }
    refused.reject(
      new CommandFailed(
        problem === undefined
          ? `The call also asks "${oneLine(key)}", and no answer was given for it.`
          : `The server refused the answer to "${oneLine(key)}": ${oneLine(problem)}`,
      ),
    );
    return never;
  };
  await withHandle(on, on.target(), onQuestion, (handle) =>
    Promise.race([waitUntilAccepted(handle, () => answered.length > 0), refused.promise]),
  );
  for (const { key } of answered)
    console.log(on.values.json ? jsonText({ event: 'answered', id, key }) : `Answered "${oneLine(key)}".`);
  return 0;
}

/** Waits until the server accepted the answer. Throws if the task has no open question. */
async function waitUntilAccepted(handle: TaskHandle, isAnswered: () => boolean): Promise<void> {
  for await (const update of handle.updates()) {
    if (update.type === 'unreachable') throw new CommandFailed(oneLine(update.why));
    if (update.type === 'answered') return;
    const tree = handle.tree();
    if (!tree || !isLoaded(tree) || hasQuestion(tree)) continue;
    // In 2025-11-25 a question is a request, and only the status shows that its answer was accepted.
    if (isAnswered()) return;
    throw new CommandFailed('No open questions.');
  }
  if (!isAnswered()) throw new CommandFailed('The call has finished and has no open questions.');
}

// --- Cancelling -------------------------------------------------------------------------------------------

async function cancel(on: CallCommand): Promise<number> {
  const { id } = requireOpen(on);
  const unanswered = () => never;
  return withHandle(on, on.target(), unanswered, async (handle, tasks) => {
    await handle.cancel();
    try {
      await handle.result().catch(async (error: unknown) => {
        // A question that arrived before the server processed the cancellation cannot be answered here. Resuming the
        // call reads the outcome of the task.
        if (!(error instanceof UnknownQuestion)) throw error;
        await (await tasks.resume(id)).result();
      });
    } catch (error) {
      if (!(error instanceof TaskCancelled)) throw error;
      console.log(on.values.json ? JSON.stringify({ event: 'cancelled', id }) : `Cancelled ${id}.`);
      return 0;
    }
    throw new CommandFailed(
      'The call finished before it could be cancelled; `holdfast tasks result` prints its result.',
    );
  });
}

function requireOpen({ record }: CallCommand): CallRecord {
  if (record.ending) throw new CommandFailed(`The call has already finished: ${statusOf(record)}.`);
  return record;
}

// --- Showing ----------------------------------------------------------------------------------------------

interface Found {
  readonly tree?: PolledTask | undefined;
  /** Open questions. */
  readonly asked: readonly Question[];
  /** The server that it was read from. */
  readonly target?: Target;
}

/** Prints a call. If the server cannot be reached, prints what the registry contains, and then fails. */
async function show(on: CallCommand): Promise<number> {
  const { record, registry } = on;
  let found: Found = { asked: [] };
  let problem: Error | undefined;
  if (!record.ending)
    try {
      const target = on.target();
      found = { asked: [], target };
      found = await loadTree(on, target);
    } catch (error) {
      if (error instanceof WrongUsage) throw error;
      problem = error as Error;
    }
  // Reading the task may have saved its outcome in the registry.
  const known = registry.get(record.id) ?? record;
  if (on.values.json) printJson(asJson(known, found));
  else for (const line of asLines(known, registry, found)) console.log(line);
  if (problem) throw problem;
  return 0;
}

/** Reads each task of the tree once. */
async function loadTree(on: CallCommand, target: Target): Promise<Found> {
  const asked: Question[] = [];
  const onQuestion = (question: Question) => {
    asked.push(question);
    return never;
  };
  const tree = await withHandle(on, target, onQuestion, async (handle) => {
    for await (const _ of handle.updates()) {
      const tree = handle.tree();
      // Questions that are sent as requests arrive too late to be shown here; the status shows that there are any.
      if (tree && isLoaded(tree)) break;
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
    status: currentStatus(record, tree),
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
  registry: CallRegistry,
  { tree, asked, target }: Found,
): Iterable<string> {
  const row = (name: string, value: string) => `${name.padEnd(10)}${value}`;
  const { id, taskId, server, params, createdAt, ending } = record;
  yield row('id', id);
  if (taskId !== undefined) yield row('task', oneLine(taskId));
  yield row('server', `${oneLine(server)}${target ? ` at ${described(target)}` : ''}`);
  yield row('tool', `${toolOf(record)} ${oneLine(JSON.stringify(params.arguments ?? {}))}`);
  yield row('created', `${age(runtime.now() - createdAt)} ago, ${dayAndTime(createdAt)}`);
  const { message, progress } = tree?.task ?? {};
  yield row('status', withMessage(currentStatus(record, tree), message));
  if (progress && !ending) {
    const of = progress.total === undefined ? '' : ` of ${number(progress.total)}`;
    yield row('progress', `${number(progress.progress)}${of}`);
  }
  for (const question of asked) {
    yield row(
      'question',
      `${oneLine(question.key)}: ${oneLine('message' in question ? question.message : '')}`,
    );
    const source = { registry, ...(target && { target }) };
    yield row('', `answer with: ${resumeCommand('answer', id, source, exampleOf(question))}`);
  }
  if (tree && tree.children.length > 0) {
    yield 'subtasks';
    for (const child of tree.children) yield* subtaskLines(child, 1);
  }
  if (ending?.kind === 'result')
    yield row('result', clean(textOf(ending.result)).replaceAll('\n', `\n${' '.repeat(10)}`));
}

/**
 * The outcome from the registry if there is one, otherwise the status on the server, otherwise the one in the
 * registry.
 */
function currentStatus(record: CallRecord, tree: PolledTask | undefined): string {
  return (record.ending ? undefined : tree?.task.status) ?? statusOf(record);
}

function withMessage(status: string, message: string | undefined): string {
  return message === undefined ? status : `${status}: ${oneLine(message)}`;
}

function* subtaskLines({ task, children }: PolledTask, depth: number): Iterable<string> {
  const { taskId, status, message } = task;
  yield `${'  '.repeat(depth)}${oneLine(taskId).slice(0, 8)}  ${withMessage(status, message)}`;
  for (const child of children) yield* subtaskLines(child, depth + 1);
}
