/**
 * The four plain tools. Their descriptions are all that a model knows of tasks; what each does is done by the methods
 * about tasks, with their owners, limits and rules. What a model can put right itself is said in an error result.
 */
import type { Requests } from '../../engine/requests.ts';
import type { ToolAnnotations } from '../../engine/tool.ts';
import type { Caller } from '../../hosting/caller.ts';
import { answerTo, known } from '../../hosting/task-methods.ts';
import { waitFor } from '../../hosting/waiting.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { Progress } from '../../model/task.ts';
import { questionsOf } from '../../protocol/collapse.ts';
import { ending } from '../../protocol/dialects/plain-tools/dialect.ts';
import type { PlainToolName, PlainToolNames } from '../../protocol/dialects/plain-tools/names.ts';
import { InvalidParams } from '../../protocol/errors.ts';
import { RequestAborted } from '../tool-calls.ts';
import { Heartbeat } from './heartbeat.ts';

export interface PlainTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  readonly inputSchema: JsonObject;
  run(call: PlainCall): Promise<JsonObject>;
}

/** A call of one of them. */
export interface PlainCall {
  readonly requests: Requests;
  /** In the dialect of plain tools. */
  readonly caller: Caller;
  readonly input: JsonObject;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

const taskId = {
  type: 'string',
  description: 'The id of the task, as the answer to the original call gives it.',
};
const justTheTask: JsonObject = { type: 'object', properties: { taskId }, required: ['taskId'] };

export function plainToolsOf(names: PlainToolNames, windowMs: number): PlainTool[] {
  const seconds = Math.max(1, Math.round(windowMs / 1_000));
  const described: Record<PlainToolName, Omit<PlainTool, 'name'>> = {
    wait: {
      title: 'Wait for a task',
      description: `Waits for a call that goes on in the background as a task, and returns its result exactly as the original tool gives it. If the task is not done within ${seconds} s it says how far it is: call it again then, as often as it takes. If the task has a question, it returns at once with the question.`,
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      inputSchema: justTheTask,
      run: (call) => wait(call, names, windowMs),
    },
    status: {
      title: 'Look at a task',
      description: `Says at once how a task stands: its status, progress, and open questions. It neither waits nor gives the result; ${names.wait} does.`,
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      inputSchema: justTheTask,
      run: async (call) => (await answerTo('tasks/get', call.requests, call.caller, call.input)).result,
    },
    answer: {
      title: 'Answer a task',
      description: `Answers questions of a task with the status input_required, so that it goes on. Ask the user first, unless the user has told you the answer already: do not approve anything on your own. An answer that does not fit its question is refused, and may be given again. Afterwards call ${names.wait}.`,
      annotations: {
        readOnlyHint: false,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      },
      inputSchema: {
        type: 'object',
        properties: {
          taskId,
          answers: {
            type: 'object',
            description:
              'An answer for each question, by its key. To a form: {"action": "accept", "content": {…}} with content that fits the schema of the question, or {"action": "decline"} or {"action": "cancel"}. Other questions say what their answer looks like.',
            additionalProperties: { type: 'object' },
          },
        },
        required: ['taskId', 'answers'],
      },
      run: (call) => answer(call, names),
    },
    cancel: {
      title: 'Cancel a task',
      description:
        'Ends a task before it is done. Its work stops and cannot be resumed; what it has done so far stays done. A task that is done stays as it is.',
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
      inputSchema: justTheTask,
      run: async (call) => (await answerTo('tasks/cancel', call.requests, call.caller, call.input)).result,
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

async function wait(
  { requests, caller, input, signal, onProgress }: PlainCall,
  names: PlainToolNames,
  windowMs: number,
): Promise<JsonObject> {
  const { tree } = await answerTo('tasks/get', requests, caller, input);
  const ended = ending(tree!, names, requests.now);
  if (ended) return ended;
  const heartbeat = onProgress && new Heartbeat(requests, onProgress);
  try {
    const waited = await waitFor(requests, tree!.root.id, {
      signal,
      windowMs,
      passesOver: ({ person = false }) => person,
      ...(heartbeat && { onProgress: heartbeat.report }),
    });
    if (waited === 'aborted') throw new RequestAborted();
  } finally {
    heartbeat?.stop();
  }
  const after = await known(requests, caller, input, names.wait);
  return ending(after, names, requests.now) ?? caller.dialect.shown(after, requests.now);
}

async function answer({ requests, caller, input }: PlainCall, names: PlainToolNames): Promise<JsonObject> {
  const { answers } = input;
  if (!isJsonObject(answers) || Object.keys(answers).length === 0)
    throw new InvalidParams(`${names.answer} needs "answers": an object with an answer for each key.`);
  const { tree, result } = await answerTo('tasks/get', requests, caller, input);
  const questions = tree!.root.phase === 'done' ? [] : questionsOf(tree!);
  const given = Object.keys(answers);
  const forPerson = questions.find(({ key, request }) => request.person && given.includes(key));
  if (forPerson) return { ...result, ...notYours(forPerson.key), isError: true };
  const open = questions.filter(({ request }) => !request.person).map(({ key }) => key);
  const unknown = given.filter((key) => !open.includes(key));
  if (unknown.length > 0) return { ...result, ...notAsked(unknown, open), isError: true };
  await answerTo('tasks/update', requests, caller, { taskId: input.taskId, inputResponses: answers });
  const after = await known(requests, caller, input, names.answer);
  return caller.dialect.shown(after, requests.now);
}

/** Refuses a model's answer to a question for a person. */
function notYours(key: string): JsonObject {
  const text = `Question ${JSON.stringify(key)} is for a person, and no tool can answer it. Tell the user that it is open. No answer was applied.`;
  return { content: [{ type: 'text', text }] };
}

/** A model that made up a key learns which there are; nothing was applied. */
function notAsked(unknown: readonly string[], open: readonly string[]): JsonObject {
  const quoted = (keys: readonly string[]) => keys.map((key) => JSON.stringify(key)).join(', ');
  const there = open.length === 0 ? 'It has no open question.' : `Open are: ${quoted(open)}.`;
  const text = `The task did not ask ${quoted(unknown)}, or has its answer already. ${there} No answer was applied.`;
  return { content: [{ type: 'text', text }] };
}
