/** What a server answered a call with: the result, a task, or questions first. */
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { immediateResponseKey } from '../protocol/dialects/2025-11-25/names.ts';
import { MalformedAnswer } from '../requestor/errors.ts';
import { type RemoteRequest, type RemoteTask, readQuestions, readTask } from '../requestor/remote-task.ts';

export type Reply =
  | { readonly kind: 'result'; readonly result: JsonObject }
  | { readonly kind: 'task'; readonly task: RemoteTask; readonly interim?: string }
  | {
      readonly kind: 'questions';
      readonly questions: Readonly<Record<string, RemoteRequest>>;
      readonly requestState?: string;
    };

export function readReply(method: string, reply: JsonObject, isModern: boolean): Reply {
  const { resultType } = reply;
  if (resultType === 'task') {
    if (method !== 'tools/call') throw new MalformedAnswer(`it answered ${method} with a task`);
    return { kind: 'task', task: readTask(isJsonObject(reply.task) ? reply.task : reply) };
  }
  if (resultType === 'input_required') {
    const { requestState } = reply;
    return {
      kind: 'questions',
      questions: readQuestions(reply.inputRequests),
      ...(typeof requestState === 'string' && { requestState }),
    };
  }
  // No resultType means complete; one that nobody knows means nothing.
  if (resultType !== undefined && resultType !== 'complete')
    throw new MalformedAnswer(`it answered ${method} with the resultType ${JSON.stringify(resultType)}`);
  if (!isModern && isTask(reply)) {
    const interim = isJsonObject(reply._meta) ? reply._meta[immediateResponseKey] : undefined;
    return {
      kind: 'task',
      task: readTask(reply.task),
      ...(typeof interim === 'string' && { interim }),
    };
  }
  return { kind: 'result', result: checkedResult(method, reply) };
}

/** The only result whose sole key is `task`. */
function isTask({ _meta, ...reply }: JsonObject): boolean {
  return Object.keys(reply).length === 1 && isJsonObject(reply.task);
}

const listsIn: Readonly<Record<string, string>> = {
  'tools/call': 'content',
  'resources/read': 'contents',
  'prompts/get': 'messages',
};

export type { CallToolResult, GetPromptResult, ReadResourceResult } from '@modelcontextprotocol/client';

/** The least that a result of its kind has. */
export function checkedResult(method: string, result: JsonObject): JsonObject {
  const key = listsIn[method];
  if (key !== undefined && !Array.isArray(result[key]))
    throw new MalformedAnswer(`the result of ${method} has no "${key}"`);
  return result;
}
