/** `holdfast tasks show`: all that is known of one call. */

import { asQuestion, type Question } from '../client/asking.ts';
import type { HandleRecord, Handles } from '../client/handles.ts';
import type { JsonObject } from '../model/json.ts';
import { runtime } from '../model/runtime.ts';
import type { Pursued } from '../requestor/pursuit.ts';
import { exampleOf } from './given-answers.ts';
import { printJson } from './json-line.ts';
import { number } from './live/lines.ts';
import { clean, oneLine } from './live/width.ts';
import { FirstLook, visiting } from './one-look.ts';
import { comeBackWith } from './registry.ts';
import { textOf } from './result-text.ts';
import { statusOf, toolOf } from './table.ts';
import { described, type Target } from './target.ts';
import { age } from './time.ts';
import { WrongUsage } from './usage.ts';

export async function show(
  record: HandleRecord,
  handles: Handles,
  { json, target }: { readonly json: boolean; target(): Target },
): Promise<number> {
  let found: { tree?: Pursued | undefined; asked: Question[] } = { asked: [] };
  let problem: Error | undefined;
  let reached: Target | undefined;
  if (!record.ending)
    try {
      reached = target();
      found = await lookedAt(record, handles, reached);
    } catch (error) {
      if (error instanceof WrongUsage) throw error;
      problem = error as Error;
    }
  const known = handles.get(record.id) ?? record;
  if (json) printJson(asJson(known, found));
  else for (const line of asLines(known, handles, found, reached)) console.log(line);
  if (problem) throw problem;
  return 0;
}

/** The whole tree, each of its tasks once. */
async function lookedAt(record: HandleRecord, handles: Handles, target: Target) {
  const asked: Question[] = [];
  const tree = await visiting(
    record,
    { handles, target },
    (question) => {
      asked.push(question);
      return new Promise<never>(() => {});
    },
    async (handle) => {
      const look = new FirstLook(handle.taskId);
      for await (const update of handle.updates()) {
        look.see(update);
        // Where questions come as requests the look is over before they are here; its status tells of them.
        if (look.isComplete) break;
      }
      return handle.tree();
    },
  );
  return { tree, asked: tree ? questionsIn(tree) : asked };
}

function questionsIn({ task, children }: Pursued): Question[] {
  const own = Object.entries(task.questions).map(([key, request]) =>
    asQuestion({ taskId: task.taskId, key, ...request }),
  );
  return [...own.filter((question) => question !== undefined), ...children.flatMap(questionsIn)];
}

function asJson(record: HandleRecord, { tree, asked }: { tree?: Pursued | undefined; asked: Question[] }) {
  const { id, taskId, server, target, params, createdAt, isDelivered, ending } = record;
  return {
    id,
    taskId,
    server,
    target,
    tool: toolOf(record),
    arguments: params.arguments,
    status: record.ending ? statusOf(record) : (tree?.task.status ?? statusOf(record)),
    createdAt,
    isDelivered,
    ending,
    task: tree?.task,
    questions: asked,
    subtasks: tree?.children,
  };
}

function* asLines(
  record: HandleRecord,
  handles: Handles,
  { tree, asked }: { tree?: Pursued | undefined; asked: Question[] },
  target: Target | undefined,
): Iterable<string> {
  const row = (name: string, value: string) => `${name.padEnd(10)}${value}`;
  const { id, taskId, server, params, createdAt, ending } = record;
  yield row('id', id);
  if (taskId !== undefined) yield row('task', oneLine(taskId));
  yield row('server', `${oneLine(server)}${target ? ` at ${described(target)}` : ''}`);
  yield row('tool', `${toolOf(record)} ${oneLine(JSON.stringify(params.arguments ?? {}))}`);
  yield row('called', `${age(runtime.now() - createdAt)} ago, ${new Date(createdAt).toLocaleString('sv')}`);
  const { status, message, progress } = tree?.task ?? {};
  const seen = ending ? statusOf(record) : (status ?? statusOf(record));
  yield row('status', `${seen}${message === undefined ? '' : `: ${oneLine(message)}`}`);
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
  if (ending?.kind === 'result') yield row('result', indented(ending.result));
}

function* below({ task, children }: Pursued, depth: number): Iterable<string> {
  const { taskId, status, message } = task;
  yield `${'  '.repeat(depth)}${oneLine(taskId).slice(0, 8)}  ${status}${message === undefined ? '' : `: ${oneLine(message)}`}`;
  for (const child of children) yield* below(child, depth + 1);
}

function indented(result: JsonObject): string {
  return clean(textOf(result)).replaceAll('\n', `\n${' '.repeat(10)}`);
}
