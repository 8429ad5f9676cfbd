/**
 * Task → words and structured content that a model can act on: what the work is, how it stands, and which tool to call
 * next with which arguments. The text repeats everything, because many hosts show their model nothing else.
 */
import type { InputRequest } from '../../../model/input.ts';
import type { JsonObject } from '../../../model/json.ts';
import type { Progress, Task } from '../../../model/task.ts';
import { type CollapsedQuestion, questionsOf, type Tree } from '../../collapse.ts';
import { toTask, type WireTask } from '../2025-11-25/task.ts';
import { toInputRequest } from '../2026-07-28/input.ts';
import { handedOverKey, type PlainToolNames } from './names.ts';

export type Standing = {
  readonly taskId: string;
  /** The tool whose call became this task. */
  readonly tool: string;
  readonly status: WireTask['status'];
  readonly statusMessage?: string;
  readonly progress?: Progress;
  readonly createdAt: string;
  readonly questions?: readonly ShownQuestion[];
  /** What to call; absent if nothing is left to be read. */
  readonly next?: { readonly tool: string; readonly arguments: JsonObject };
};

export type ShownQuestion = {
  readonly key: string;
  readonly kind: InputRequest['kind'];
  readonly message: string;
  /** Of a form. */
  readonly schema?: JsonObject;
  readonly url?: string;
  /** Of sampling: the messages and whatever else a model is to be given. */
  readonly params?: JsonObject;
  /** What an answer looks like; absent if only a person may answer. */
  readonly answer?: JsonObject;
  readonly person?: true;
};

export function standingOf(tree: Tree, names: PlainToolNames, now: number): Standing {
  const { root } = tree;
  const { status, statusMessage, createdAt } = toTask(tree, now);
  const { progress } = root;
  const questions = root.phase === 'done' ? [] : questionsOf(tree).map(shownQuestion);
  return {
    taskId: root.id,
    tool: root.tool,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    ...(progress && root.phase !== 'done' && { progress }),
    createdAt,
    ...(questions.length > 0 && { questions }),
    ...nextOf(root, questions, names),
  };
}

function nextOf(
  root: Task,
  questions: readonly ShownQuestion[],
  names: PlainToolNames,
): Pick<Standing, 'next'> {
  const taskId = root.id;
  const hasPayload =
    root.phase !== 'done' || root.outcome.kind === 'result' || root.outcome.kind === 'failure';
  if (!hasPayload) return {};
  const answers = Object.fromEntries(questions.flatMap(({ key, answer }) => (answer ? [[key, answer]] : [])));
  if (Object.keys(answers).length === 0) return { next: { tool: names.wait, arguments: { taskId } } };
  return { next: { tool: names.answer, arguments: { taskId, answers } } };
}

function shownQuestion({ key, request }: CollapsedQuestion): ShownQuestion {
  const { kind } = request;
  if (request.person && 'message' in request) {
    const { message } = request;
    return { key, kind, message, person: true, ...(request.kind === 'url' && { url: request.url }) };
  }
  switch (request.kind) {
    case 'form': {
      const { params } = toInputRequest(request) as unknown as { params: { requestedSchema: JsonObject } };
      return {
        key,
        kind,
        message: request.message,
        schema: params.requestedSchema,
        answer: { action: 'accept', content: {} },
      };
    }
    case 'url':
      return { key, kind, message: request.message, url: request.url, answer: { action: 'accept' } };
    case 'sampling':
      return {
        key,
        kind,
        message: 'The tool asks a language model.',
        params: request.params,
        answer: { role: 'assistant', content: { type: 'text', text: '' }, model: '' },
      };
    case 'roots':
      return {
        key,
        kind,
        message: 'The tool asks for the folders that it may work in.',
        answer: { roots: [] },
      };
  }
}

/** A tool result that tells how a task stands. */
export function standingResult(standing: Standing, names: PlainToolNames, opening?: string): JsonObject {
  const lines = [
    ...(opening === undefined ? [] : [opening]),
    ...statusLines(standing),
    ...nextLines(standing, names),
  ];
  return {
    content: [{ type: 'text', text: lines.join('\n') }],
    structuredContent: standing as unknown as JsonObject,
    _meta: { [handedOverKey]: { taskId: standing.taskId } },
  };
}

function statusLines({ taskId, tool, status, statusMessage, progress, questions = [] }: Standing): string[] {
  return [
    `Task ${taskId} (${tool}): ${status}.`,
    ...(statusMessage === undefined ? [] : [`Message: ${statusMessage}`]),
    ...(progress ? [`Progress: ${progressLine(progress)}`] : []),
    ...questions.flatMap(questionLines),
  ];
}

function progressLine({ done, total, message }: Progress): string {
  const far = total === undefined ? `${done}` : `${done} of ${total}`;
  return message === undefined ? far : `${far}, ${message}`;
}

function questionLines({ key, kind, message, schema, url, params, person }: ShownQuestion): string[] {
  const asked = `Question "${key}": ${message}`;
  if (person && url !== undefined)
    return [`${asked} ${url}`, '  Only a person may settle it there. Tell the user.'];
  if (person)
    return [
      asked,
      '  Only a person may answer it, in the client or at the server: you cannot. Tell the user.',
    ];
  switch (kind) {
    case 'form':
      return [
        asked,
        `  Answer with {"action":"accept","content":…}, where content fits ${JSON.stringify(schema)}, or with {"action":"decline"} or {"action":"cancel"}.`,
      ];
    case 'url':
      return [
        asked,
        `  It is settled at ${url}. Once the user has been there, answer with {"action":"accept"}; otherwise with {"action":"decline"} or {"action":"cancel"}.`,
      ];
    case 'sampling':
      return [
        `${asked} Request: ${JSON.stringify(params)}`,
        '  Answer with {"role":"assistant","content":{"type":"text","text":…},"model":…}, where model is the name of the model that wrote it.',
      ];
    case 'roots':
      return [asked, '  Answer with {"roots":[{"uri":"file:///…"}]}, or {"roots":[]} for none.'];
  }
}

function nextLines({ status, taskId, next }: Standing, names: PlainToolNames): string[] {
  if (!next) return [];
  const call = `${next.tool} with ${JSON.stringify(next.arguments)}`;
  switch (status) {
    case 'input_required':
      if (next.tool === names.wait)
        return [`Next: tell the user what is asked, and call ${call} to wait for the answer and the result.`];
      return [
        `Next: ask the user, unless you were told the answer, and call ${call}, filled in. The task waits meanwhile.`,
      ];
    case 'working':
      return [
        `Next: call ${call} to wait for the result. Do not call the original tool again: that would begin the work anew. ${names.cancel} with ${JSON.stringify({ taskId })} ends it.`,
      ];
    default:
      return [`Next: call ${call} to read how it ended.`];
  }
}
