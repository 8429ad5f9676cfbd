/**
 * Tasks as ordinary tool results, for plain clients. The model reads the result and continues with plain tools, such as
 * `task_wait`. This is a dialect like the others, so that all rules about tasks also apply to plain clients.
 */

import type { InputRequest } from '../../model/input.ts';
import type { JsonObject } from '../../model/json.ts';
import type { Progress, Task } from '../../model/task.ts';
import { toTask } from '../2025-11-25/dialect.ts';
import { tasksExtension } from '../2026-07-28/dialect.ts';
import { toInputRequest } from '../2026-07-28/input.ts';
import { type CollapsedQuestion, questionsOf, type Tree } from '../collapse.ts';
import type { Dialect, Sender } from '../dialect.ts';
import { CallFailed } from '../errors.ts';
import { handedOverKey, type PlainToolNames } from './names.ts';

/** `within` is the dialect of the connection. `answers` are the kinds of questions that its client can be asked. */
export function plainTools(names: PlainToolNames, within: Dialect, answers: Sender['answers']): Dialect {
  const shown = (tree: Tree, now: number) => statusResult(statusOf(tree, names, now, answers), names);
  return {
    ...within,
    methods: tasksExtension.methods,
    refusesLateCancel: false,
    callerNamesTasks: false,
    // Plain clients do not expect messages on the stream of a call to mention tasks.
    related: (_tree, meta = {}) => meta,
    notification: () => undefined,
    admits: () => true,
    created: (tree, now) => statusResult(statusOf(tree, names, now, answers), names, true),
    shown,
    listed: shown,
    acknowledged: shown,
  };
}

/** What the plain call would have returned; throws if it failed. Undefined while the task is live. */
export function finalResult(tree: Tree, names: PlainToolNames, now: number): JsonObject | undefined {
  const { root } = tree;
  if (root.phase !== 'done') return undefined;
  const { outcome } = root;
  if (outcome.kind === 'result') return toolResult(outcome.value as JsonObject, root.origin.method);
  if (outcome.kind === 'failure') throw new CallFailed(outcome);
  // A plain call that was cancelled or lost has no answer, but the caller of the wait tool needs one.
  return { ...statusResult(statusOf(tree, names, now, []), names), isError: true };
}

/** The result of a resource or prompt is returned as text, because the caller called a tool. */
function toolResult(value: JsonObject, method: string): JsonObject {
  return method === 'tools/call' ? value : { content: [{ type: 'text', text: JSON.stringify(value) }] };
}

// --- A task as text and structured content ------------------------------------------------------------------

export type ShownQuestion = {
  readonly key: string;
  readonly kind: InputRequest['kind'];
  readonly message: string;
  /** The schema of a form. */
  readonly schema?: JsonObject;
  readonly url?: string;
  /** The params of a sampling request. */
  readonly params?: JsonObject;
  /** A template for the model's answer. Absent if the model must not answer, because the client or a person does. */
  readonly answer?: JsonObject;
  /** True if the client itself asks its user, during a call of the wait tool. */
  readonly client?: true;
  /** True if only a person may answer, not the model. */
  readonly person?: true;
};

/**
 * The structured content: the tool, the status, and the tool to call next with its arguments. The text repeats all of
 * it, because many hosts show the model only the text. `answers` are the kinds of questions that the client can be
 * asked.
 */
function statusOf(tree: Tree, names: PlainToolNames, now: number, answers: readonly InputRequest['kind'][]) {
  const { root } = tree;
  const { status, statusMessage, createdAt } = toTask(tree, now);
  const { progress } = root;
  const open = root.phase === 'done' ? [] : questionsOf(tree);
  const questions = open.map((question): ShownQuestion => {
    const shown = shownQuestion(question);
    const { answer: _, ...rest } = shown;
    return answers.includes(shown.kind) ? { ...rest, client: true } : shown;
  });
  const next = nextOf(root, questions, names);
  return {
    taskId: root.id,
    // The tool whose call became this task.
    tool: root.origin.calledAs ?? root.tool,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    ...(progress && root.phase !== 'done' && { progress }),
    createdAt,
    // The time until which open questions can be answered.
    ...(questions.length > 0 &&
      root.deadlineAt !== null && { waitsUntil: new Date(root.deadlineAt).toISOString() }),
    ...(questions.length > 0 && { questions }),
    ...(next && { next }),
  };
}

type PlainStatus = ReturnType<typeof statusOf>;

/** The tool to call next, unless the task ended without anything to read. */
function nextOf(root: Task, questions: readonly ShownQuestion[], names: PlainToolNames) {
  const taskId = root.id;
  const hasPayload =
    root.phase !== 'done' || root.outcome.kind === 'result' || root.outcome.kind === 'failure';
  if (!hasPayload) return undefined;
  // The arguments contain no example answer, because a model might send it unchanged.
  if (questions.some(({ answer }) => answer))
    return { tool: names.answer, arguments: { taskId, answers: {} } };
  return { tool: names.wait, arguments: { taskId } };
}

function shownQuestion({ key, request }: CollapsedQuestion): ShownQuestion {
  const { kind } = request;
  const message = 'message' in request ? request.message : needs[request.kind];
  const asked = { key, kind, message, ...(request.kind === 'url' && { url: request.url }) };
  if (request.person && 'message' in request) return { ...asked, person: true };
  switch (request.kind) {
    case 'form': {
      const { params } = toInputRequest(request) as unknown as { params: { requestedSchema: JsonObject } };
      return { ...asked, schema: params.requestedSchema, answer: { action: 'accept', content: {} } };
    }
    case 'url':
      return { ...asked, answer: { action: 'accept' } };
    case 'sampling': {
      const answer = { role: 'assistant', content: { type: 'text', text: '' }, model: '' };
      return { ...asked, params: request.params, answer };
    }
    case 'roots':
      return { ...asked, answer: { roots: [] } };
  }
}

/** The messages of questions that have none of their own. */
const needs = {
  sampling: 'The tool needs an answer from a language model.',
  roots: 'The tool needs to know which folders it may work in.',
};

/** A tool result with the status of a task. `isFirst`: it answers the original call, so it has an introduction. */
function statusResult(task: PlainStatus, names: PlainToolNames, isFirst = false): JsonObject {
  const lines = [
    ...(isFirst ? [introductions[task.status] ?? ''] : []).filter((line) => line !== ''),
    ...statusLines(task),
    ...nextLines(task, names, isFirst),
  ];
  return {
    content: [{ type: 'text', text: lines.join('\n') }],
    structuredContent: task as unknown as JsonObject,
    _meta: { [handedOverKey]: { taskId: task.taskId } },
  };
}

/** The first line of the answer to the original call. */
const introductions: Partial<Record<PlainStatus['status'], string>> = {
  working: 'The tool is still running. It continues in the background as a task.',
  input_required:
    'The tool has not finished: it needs an answer first. It waits in the background as a task.',
};

function statusLines(task: PlainStatus): string[] {
  const { taskId, tool, status, statusMessage, progress, questions = [], waitsUntil } = task;
  return [
    `Task ${taskId} (${tool}): ${status}.`,
    ...(statusMessage === undefined ? [] : [`Message: ${statusMessage}`]),
    ...(progress ? [`Progress: ${progressLine(progress)}`] : []),
    ...questions.flatMap(questionLines),
    ...(waitsUntil === undefined
      ? []
      : [
          `The task waits for the answer until ${waitsUntil.replace(/\.\d+/, '')}, then it ends without a result.`,
        ]),
  ];
}

function progressLine({ done, total, message }: Progress): string {
  const amount = total === undefined ? `${done}` : `${done} of ${total}`;
  return message === undefined ? amount : `${amount}, ${message}`;
}

function questionLines({ key, kind, message, schema, url, params, client, person }: ShownQuestion): string[] {
  const asked = `Question "${key}": ${message}`;
  if (client) return [asked, '  The user is asked by their client while you wait. You need not answer it.'];
  if (person && url !== undefined)
    return [`${asked} ${url}`, '  Only a person can do this. Give the user the address.'];
  if (person)
    return [
      asked,
      "  Only a person can answer this, in the server's dashboard or terminal. You cannot. Inform the user.",
    ];
  switch (kind) {
    case 'form':
      return [
        asked,
        `  Answer: {"action":"accept","content":…} where content fits ${JSON.stringify(schema)}; {"action":"decline"} if the user refuses to answer; {"action":"cancel"} if they dismiss the question.`,
      ];
    case 'url':
      return [
        asked,
        `  The user does this at ${url}. Then answer {"action":"accept"}; if they refuse, {"action":"decline"} or {"action":"cancel"}.`,
      ];
    case 'sampling':
      return [
        `${asked} Request: ${JSON.stringify(params)}`,
        '  Answer: {"role":"assistant","content":{"type":"text","text":…},"model":…} with your own model name.',
      ];
    case 'roots':
      return [asked, '  Answer: {"roots":[{"uri":"file:///…"}]}, or {"roots":[]} for none.'];
  }
}

function nextLines(
  { status, taskId, questions = [], next }: PlainStatus,
  names: PlainToolNames,
  isFirst: boolean,
) {
  if (!next) return [];
  const call = `${next.tool} with ${JSON.stringify(next.arguments)}`;
  if (status !== 'working' && status !== 'input_required') return [`Next: call ${call} to get the result.`];
  const why = ': that would start the work a second time';
  return [
    `Next: ${status === 'working' ? `call ${call} to get the result.` : nextWithQuestions(taskId, questions, call, names)}`,
    `Do not call the original tool again${isFirst ? why : ''}.`,
    // If every result repeated this, models would cancel too readily.
    ...(isFirst
      ? [`If the user no longer wants the result, call ${names.cancel} with ${JSON.stringify({ taskId })}.`]
      : []),
  ];
}

function nextWithQuestions(
  taskId: string,
  questions: readonly ShownQuestion[],
  wait: string,
  names: PlainToolNames,
): string {
  const mine = questions.filter(({ answer }) => answer).map(({ key }) => `${JSON.stringify(key)}:…`);
  if (mine.length > 0)
    return `ask the user for everything they have not given you, and do not guess. Then call ${names.answer} with {"taskId":${JSON.stringify(taskId)},"answers":{${mine.join(',')}}}, where … is the answer described above.`;
  if (questions.some(({ client }) => client)) return `call ${wait}, which asks the user, to get the result.`;
  return `inform the user about the question. The task keeps waiting, and you can continue with other work. Call ${wait} once they have answered.`;
}
