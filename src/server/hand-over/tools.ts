/**
 * The four plain tools. A model learns about tasks only from their descriptions. They call the task methods, so
 * that the same owners, limits and rules apply. Errors that a model can correct are returned as error results.
 */

import { questionsOf } from '../../dialects/collapse.ts';
import { InvalidParams } from '../../dialects/errors.ts';
import { finalResult } from '../../dialects/plain-tools/dialect.ts';
import type { PlainToolName, PlainToolNames } from '../../dialects/plain-tools/names.ts';
import type { ToolAnnotations } from '../../engine/handlers/tool.ts';
import type { TaskService, TaskTree } from '../../engine/task-service.ts';
import type { InputRequest } from '../../model/input.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { Progress } from '../../model/task.ts';
import type { Caller } from '../../task-methods/caller.ts';
import { answerQuestions, answerTo, authorizedTree } from '../../task-methods/task-methods.ts';
import { errorResult, RequestAborted } from '../calls/tool-call.ts';
import { type PlainRequest, waitPlainly } from './waiting.ts';

export interface PlainTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  readonly inputSchema: JsonObject;
  run(call: PlainCall): Promise<JsonObject>;
}

/** A call of a plain tool. */
export interface PlainCall extends PlainRequest {
  readonly requests: TaskService;
  readonly input: JsonObject;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Answers to questions that were part of the answer to an earlier call. */
  readonly inputResponses?: JsonObject;
}

const taskId = {
  type: 'string',
  description: 'The taskId from the result of the tool that started the work.',
};
const onlyTaskId: JsonObject = { type: 'object', properties: { taskId }, required: ['taskId'] };

// Annotations. All four tools can safely be called again with the same arguments.
const reading = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };
const acting = { ...reading, readOnlyHint: false };

/** The four tools, each under its configured name. All check that `taskId` is a non-empty string. */
export function plainToolsOf(names: PlainToolNames): PlainTool[] {
  const described: Record<PlainToolName, Omit<PlainTool, 'name'>> = {
    wait: {
      title: 'Wait for a background task',
      description: `Waits for a tool call that continues in the background and returns its result, exactly as the original tool returns it. If the task is still running after some seconds, it returns the progress: call ${names.wait} again until you get the result. If the task has a question, it returns the question.`,
      annotations: reading,
      inputSchema: onlyTaskId,
      run: (call) => wait(call, names),
    },
    status: {
      title: 'Check a background task',
      description: `Returns the status, progress and open questions of a background task at once. It does not return the result. Do not call it again and again: ${names.wait} waits for you.`,
      annotations: reading,
      inputSchema: onlyTaskId,
      run: async (call) => (await answerTo('tasks/get', call.requests, call.caller, call.input)).result,
    },
    answer: {
      title: 'Answer a background task',
      description: `Sends the user's answers to the open questions of a background task, so that it continues. Ask the user first, unless they already gave you the answer; never decide for them. Then call ${names.wait}.`,
      annotations: { ...acting, destructiveHint: false },
      inputSchema: {
        type: 'object',
        properties: {
          taskId,
          answers: {
            type: 'object',
            description:
              'One answer per question key. For a form: {"action": "accept", "content": {…}} where content fits the schema of the question, {"action": "decline"} if the user refuses to answer, or {"action": "cancel"} if they dismiss the question. Other questions show the form of their answer, or that only a person can answer them.',
            additionalProperties: { type: 'object' },
          },
        },
        required: ['taskId', 'answers'],
      },
      run: (call) => answer(call, names),
    },
    cancel: {
      title: 'Cancel a background task',
      description:
        'Stops a background task for good. What it has already done is not undone. Use it only if the user no longer wants the result: a task that waits for an answer can be left waiting.',
      annotations: { ...acting, destructiveHint: true },
      inputSchema: onlyTaskId,
      run: (call) => cancel(call, names),
    },
  };
  return Object.entries(described).map(([name, tool]) => ({
    ...tool,
    name: names[name as PlainToolName],
    run: (call) => {
      if (typeof call.input.taskId !== 'string' || call.input.taskId === '')
        throw new InvalidParams(
          `${names[name as PlainToolName]} needs "taskId": the id of a task, a string.`,
        );
      return tool.run(call);
    },
  }));
}

/** Waits for the task, up to the window of the request. Cancelling the request ends only the wait. */
async function wait(call: PlainCall, names: PlainToolNames): Promise<JsonObject> {
  const { requests, caller, input, signal, onProgress, inputResponses } = call;
  const { tree } = await answerTo('tasks/get', requests, caller, input);
  const ended = finalResult(tree!, names, requests.now);
  if (ended) return ended;
  if (inputResponses) await answerQuestions(requests, tree!, inputResponses, caller);
  const waited = await waitPlainly(requests, tree!.root.id, call, {
    signal,
    // A person answers these questions elsewhere.
    ignores: ({ person = false }) => person,
    ...(onProgress && { onProgress }),
  });
  if (waited === 'aborted') throw new RequestAborted();
  const after = await authorizedTree(requests, caller, input, names.wait);
  const questions = waited === 'asked' ? askable(after, caller) : [];
  if (questions.length > 0) return caller.dialect.inputRequired(new Map(questions));
  return finalResult(after, names, requests.now) ?? caller.dialect.shown(after, requests.now);
}

/** Open questions that the client can be asked, by their keys. */
function askable(tree: TaskTree, { sender }: Caller): [string, InputRequest][] {
  const open = tree.root.phase === 'done' ? [] : questionsOf(tree);
  return open.flatMap(({ key, request }) => (sender.answers.includes(request.kind) ? [[key, request]] : []));
}

async function answer({ requests, caller, input }: PlainCall, names: PlainToolNames): Promise<JsonObject> {
  const { answers } = input;
  if (!isJsonObject(answers) || Object.keys(answers).length === 0)
    throw new InvalidParams(`${names.answer} needs "answers": an object with an answer for each key.`);
  const { tree, result } = await answerTo('tasks/get', requests, caller, input);
  const questions = tree!.root.phase === 'done' ? [] : questionsOf(tree!);
  const given = Object.keys(answers);
  const forPerson = questions.find(({ key, request }) => request.person && given.includes(key));
  if (forPerson) return { ...result, ...errorResult(notYours(forPerson.key)) };
  const open = questions.filter(({ request }) => !request.person).map(({ key }) => key);
  const unknown = given.filter((key) => !open.includes(key));
  if (unknown.length > 0) return { ...result, ...errorResult(notAsked(unknown, open)) };
  await answerTo('tasks/update', requests, caller, { taskId: input.taskId!, inputResponses: answers });
  const shown = caller.dialect.shown(
    await authorizedTree(requests, caller, input, names.answer),
    requests.now,
  );
  const text = given.length === 1 ? 'The answer was sent.' : 'The answers were sent.';
  return { ...shown, content: [{ type: 'text', text }, ...(shown.content as JsonObject[])] };
}

async function cancel({ requests, caller, input }: PlainCall, names: PlainToolNames): Promise<JsonObject> {
  const { result } = await answerTo('tasks/cancel', requests, caller, input);
  const { status, taskId } = result.structuredContent as { status: string; taskId: string };
  if (status === 'cancelled') return result;
  const text = `The task had already finished, so nothing was cancelled. If the user still wants its result, call ${names.wait} with ${JSON.stringify({ taskId })}.`;
  return { ...result, content: [{ type: 'text', text }] };
}

/** Refuses a model's answer to a question for a person. */
function notYours(key: string): string {
  return `Question ${JSON.stringify(key)} is for a person, and no tool can answer it. Inform the user that it is open. No answer was applied.`;
}

/** Refuses answers with unknown keys, and lists the open questions. */
function notAsked(unknown: readonly string[], open: readonly string[]): string {
  const quoted = (keys: readonly string[]) => keys.map((key) => JSON.stringify(key)).join(', ');
  const openKeys = open.length === 0 ? 'It has no open questions.' : `Open questions: ${quoted(open)}.`;
  return `The task has no open question ${quoted(unknown)}. ${openKeys} No answer was applied.`;
}
