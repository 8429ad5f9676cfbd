/**
 * `tools/call` of a durable tool: whether it is answered with a task, with the plain result, or with questions first.
 *
 * A caller that takes tasks gets one at once (`always`, `required`), or if the handler is not done within the window,
 * asks, or starts a subtask (`auto`). Everyone else waits for the result; the work is the same, but its task belongs
 * to the request until its id is sent, and nobody ever hears of it, unless the call is handed over (`hand-over/`).
 */
import { NotJson, ValueTooLarge } from '../engine/carried.ts';
import { InvalidInput } from '../engine/recorded-error.ts';
import type { Requests, TaskTree } from '../engine/requests.ts';
import { parse } from '../engine/schema.ts';
import type { Tasks } from '../engine/tasks.ts';
import type { CreateOptions } from '../engine/tasks-options.ts';
import type { DurableTool, RequestMethod } from '../engine/tool.ts';
import type { Caller } from '../hosting/caller.ts';
import { actorOf, noteRead } from '../hosting/recording.ts';
import { answerQuestions, view, visible } from '../hosting/task-methods.ts';
import { idOfName } from '../hosting/task-names.ts';
import { type Patience, untilDone, waitFor } from '../hosting/waiting.ts';
import { digestOf } from '../model/digest.ts';
import { BadAnswer, TaskExists } from '../model/errors.ts';
import type { InputRequest } from '../model/input.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { Outcome } from '../model/outcome.ts';
import type { Origin, Owner, Progress, Task, TaskId } from '../model/task.ts';
import { questionsOf } from '../protocol/collapse.ts';
import { CallFailed, InvalidParams, InvalidRequestState, MissingCapability } from '../protocol/errors.ts';
import { gather } from './before.ts';
import { type HandOver, waitPlainly } from './hand-over/waiting.ts';
import { type RequestState, RequestStates, type StatefulCall, stateLifeMs } from './request-state.ts';

export interface ToolCall {
  readonly tool: DurableTool;
  readonly input: unknown;
  readonly inputResponses?: JsonObject;
  readonly requestState?: string;
  readonly idempotencyKey?: string;
  /** Wishes of a caller that asks for a task: how long it is to be known, and where to tell of its progress. */
  readonly ttlMs?: number;
  readonly progress?: Origin['progress'];
  /** However long its caller or the tool wants the task to be known, it is not longer than so. */
  readonly longestRetentionMs?: number;
  /** … and however long the tool lets it live, it is ended after so long. */
  readonly longestDeadlineMs: number;
  readonly named?: Naming;
  readonly head?: Head;
  /** Its head, if it has begun, and been paid for, already. */
  readonly headed?: Headed | Promise<Headed>;
  /** The caller's own trace, which the task's goes on with. */
  readonly trace?: Origin['trace'];
}

/** The task of a caller that names its tasks itself (SEP-1686), and what it calls the request. */
export interface Naming {
  readonly taskId: string;
  readonly keepAlive?: number | null;
  readonly requestId: string | number;
}

/**
 * Begins work that can be carried on by whoever runs its task, before there is one: what is answered at once needs no
 * task at all. Gives how it ended, if it has, or else what the task that goes on with it is made with.
 */
export type Head = (owner: Owner, signal: AbortSignal) => Promise<Headed>;

export type Headed =
  | { readonly outcome: Outcome }
  | {
      readonly input: unknown;
      /** There will be no task. */
      abandon(): void;
    };

/** The open request that a call came with. */
export interface OpenRequest {
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Hears which task it waits for: from the moment that the task is being made, so that nothing of it is missed. */
  readonly onTask?: (making: Promise<TaskId>) => void;
  /** Nobody is there any more to be answered, though nothing was cancelled. */
  readonly gone?: AbortSignal;
  /** The caller is told of its task, and can be asked its questions until the returned function is called. */
  readonly onCreated?: (tree: TaskTree) => Promise<() => void>;
  /** Its caller knows no tasks, and goes on with plain tools if it has to wait for long. */
  readonly handOver?: HandOver;
}

/** A wait that may end with a task in plain words. */
type PlainPatience = Patience & Pick<OpenRequest, 'handOver'>;

/** The author's `before` threw. */
class BeforeFailed extends Error {}

/** The request is gone, and nobody waits for an answer. */
export class RequestAborted extends Error {}

export class ToolCalls {
  readonly #tasks: Tasks;
  readonly #requests: Requests;
  readonly #states: RequestStates;
  readonly #windowMs: number;

  constructor(tasks: Tasks, requests: Requests, windowMs: number) {
    this.#tasks = tasks;
    this.#requests = requests;
    this.#states = new RequestStates(requests);
    this.#windowMs = windowMs;
  }

  async call(call: ToolCall, caller: Caller, request: OpenRequest): Promise<JsonObject> {
    const { tool } = call;
    if (tool.task === 'required' && !caller.sender.takesTasks && !call.named && !request.handOver)
      throw caller.dialect.tasksRequired(`The ${kindOf[tool.method]} ${nameOf(tool)}`);
    try {
      const state = await this.#stateOf(call, caller);
      if (state?.kind === 'parked') return await this.#resume(state.taskId, call, caller, request);
      const gathered = await this.#gather(call, caller, state);
      if ('open' in gathered) return await this.#askFirst(gathered.open, call, caller, state);
      return await this.#start(call, gathered.input, caller, request);
    } catch (error) {
      if (error instanceof BeforeFailed) return plain(tool.failure(error.cause));
      if (error instanceof ValueTooLarge) this.#requests.refused('largestValue');
      if (error instanceof ValueTooLarge || error instanceof NotJson) throw new InvalidParams(error.message);
      if (!(error instanceof InvalidInput)) throw error;
      if (tool.method !== 'tools/call') throw new InvalidParams(error.message);
      // As the SDK answers arguments that do not fit: with an error result that the model can read.
      return errorResult(`Input validation error: Invalid arguments for tool ${tool.name}: ${error.message}`);
    }
  }

  // --- Before there is a task -----------------------------------------------------------------------------

  async #stateOf(call: ToolCall, caller: Caller): Promise<RequestState | undefined> {
    if (call.requestState === undefined) return undefined;
    return this.#states.open(await stateful(call, caller), call.requestState);
  }

  /** The input that the task is made with, as the author's `before` leaves it. */
  async #gather(
    { tool, input, inputResponses }: ToolCall,
    { sender }: Caller,
    state: BeforeState | undefined,
  ): Promise<{ readonly input: unknown } | { readonly open: ReadonlyMap<string, InputRequest> }> {
    const { before, secrets, inputSchema } = tool;
    if (!before) return { input };
    const parsed = inputSchema
      ? await parse(inputSchema, input ?? {}, `The input of ${tool.name}`, secrets)
      : input;
    try {
      const answers = answersFor(state, inputResponses);
      const gathered = await gather({ before, secrets }, parsed, answers, sender);
      return 'open' in gathered ? gathered : { input: gathered.returned ?? input };
    } catch (error) {
      if (error instanceof MissingCapability || error instanceof BadAnswer) throw error;
      throw new BeforeFailed('', { cause: error });
    }
  }

  async #askFirst(
    open: ReadonlyMap<string, InputRequest>,
    call: ToolCall,
    caller: Caller,
    state: BeforeState | undefined,
  ): Promise<JsonObject> {
    const requestState = await this.#states.seal(await stateful(call, caller), {
      kind: 'before',
      asked: [...open.keys()],
      answers: answersFor(state, call.inputResponses),
    });
    return caller.dialect.inputRequired(open, requestState);
  }

  // --- With a task ----------------------------------------------------------------------------------------

  async #start(call: ToolCall, input: unknown, caller: Caller, request: OpenRequest): Promise<JsonObject> {
    if (!call.headed) await caller.limiter?.spend(caller.owner, 'calls');
    if (call.named) return this.#startNamed(call, call.named, input, caller, request);
    const { task: setting } = call.tool;
    const givesTask = caller.sender.takesTasks && setting !== 'never';
    const atOnce = givesTask && (setting !== 'auto' || caller.sender.wantsTask === true);
    const isUnpublished = !atOnce && !hasHandle(call, caller.sender);
    const headed =
      (await call.headed) ?? (isUnpublished ? await call.head?.(caller.owner, request.signal) : undefined);
    if (headed && 'outcome' in headed) return plain(headed.outcome);
    const creating = this.#make(caller, call.tool, headed ? headed.input : input, {
      owner: caller.owner,
      origin: {
        dialect: caller.dialect.revision,
        method: call.tool.method,
        // Whoever goes on with plain tools can be asked anything, if not by its client.
        ...(!request.handOver && { answers: caller.sender.answers }),
        ...(call.progress && { progress: call.progress }),
        ...(call.trace && { trace: call.trace }),
      },
      by: actorOf(caller),
      unpublished: isUnpublished,
      ...(givesTask && call.ttlMs !== undefined && { ttlMs: call.ttlMs }),
      ...limitOf(call),
      ...(hasHandle(call, caller.sender) && { idempotencyKey: call.idempotencyKey! }),
    });
    if (headed) creating.catch(() => headed.abandon());
    request.onTask?.(creating.then(({ id }) => id));
    const task = await creating;
    if (atOnce) return this.#handOver(task, call, caller, request);
    const patience: PlainPatience = givesTask
      ? { ...request, windowMs: this.#windowMs, untilStart: true }
      : request;
    return this.#attend(task.id, call, caller, patience);
  }

  /** Refuses one task more than there may be. */
  #make(
    { limiter, owner }: Caller,
    tool: DurableTool,
    input: unknown,
    options: CreateOptions,
  ): Promise<Task> {
    const make = () => this.#tasks.create(tool, input, options);
    return limiter ? limiter.makeTask(this.#requests, owner, make) : make();
  }

  /** The caller is told that its task is there, and waits for the ordinary answer all the same. */
  async #startNamed(
    call: ToolCall,
    { taskId, keepAlive, requestId }: Naming,
    input: unknown,
    caller: Caller,
    { signal, gone = signal, onProgress, onCreated }: OpenRequest,
  ): Promise<JsonObject> {
    const { owner, dialect, sender, session = '' } = caller;
    // What the caller can see already it could not tell from a task of that name.
    if (await visible(this.#requests, caller, taskId)) throw new TaskExists(taskId);
    const root = await this.#make(caller, call.tool, input, {
      id: await idOfName(this.#requests, caller, taskId),
      owner,
      origin: {
        dialect: dialect.revision,
        method: call.tool.method,
        answers: sender.answers,
        named: { taskId, session, requestId },
        ...(call.trace && { trace: call.trace }),
      },
      by: actorOf(caller),
      ...(keepAlive !== undefined && { keepAliveMs: keepAlive }),
      ...limitOf(call),
    });
    const tree = { root, descendants: [] };
    const leave = await onCreated?.(tree);
    try {
      await untilDone(this.#requests, root, {
        signal: AbortSignal.any([signal, gone]),
        ...(onProgress && { onProgress }),
      });
    } finally {
      leave?.();
    }
    if (gone.aborted) throw new RequestAborted();
    if (signal.aborted) {
      await this.#requests.cancel(root.id, 'The client cancelled its request.', actorOf(caller));
      throw new RequestAborted();
    }
    const { _meta, ...result } = await this.#deliver(root.id, caller, false);
    return { ...result, _meta: dialect.related(tree, isJsonObject(_meta) ? _meta : undefined) };
  }

  /** The caller goes away with the id, if it is still there to be told. */
  async #handOver(task: Task, call: ToolCall, caller: Caller, { signal }: OpenRequest): Promise<JsonObject> {
    if (signal.aborted) return this.#abort(task.id, call, caller);
    return caller.dialect.created({ root: task, descendants: [] }, this.#requests.now);
  }

  /** Waits with the caller until there is something to tell it. */
  async #attend(id: TaskId, call: ToolCall, caller: Caller, patience: PlainPatience): Promise<JsonObject> {
    const { handOver, windowMs } = patience;
    const waited = handOver
      ? await waitPlainly(this.#requests, id, call.tool, { ...patience, handOver })
      : await waitFor(this.#requests, id, patience);
    if (waited === 'aborted') return this.#abort(id, call, caller);
    if (waited === 'done') return this.#deliver(id, caller, call.requestState === undefined);
    // Only a caller that takes tasks, or is told of them in plain words, waits no longer than a window.
    const isOver = handOver ? waited === 'elapsed' : windowMs !== undefined;
    if (isOver) return this.#publish(id, call, handOver?.caller ?? caller, patience);
    return this.#park(id, call, caller, patience);
  }

  async #publish(id: TaskId, call: ToolCall, caller: Caller, { signal }: OpenRequest): Promise<JsonObject> {
    if (signal.aborted) return this.#abort(id, call, caller);
    const isAlive = await this.#requests.publish(id);
    const tree = isAlive ? await view(this.#requests, caller, id) : undefined;
    if (signal.aborted) return this.#abort(id, call, caller);
    if (tree) return caller.dialect.created(tree, this.#requests.now);
    return this.#deliver(id, caller, call.requestState === undefined);
  }

  /** Puts the open questions to a caller that has no tasks; the state that it gets names the work. */
  async #park(id: TaskId, call: ToolCall, caller: Caller, patience: PlainPatience): Promise<JsonObject> {
    const tree = await this.#requests.tree(id);
    const open = tree && tree.root.phase !== 'done' ? questionsOf(tree) : [];
    // One that came in this very moment, and that the client cannot be asked, is handed over with the retry.
    const questions = patience.handOver
      ? open.filter(({ request }) => caller.sender.answers.includes(request.kind))
      : open;
    if (questions.length === 0) return this.#attend(id, call, caller, patience);
    await this.#requests.keepBetweenRounds(id, stateLifeMs);
    const asked = new Map(questions.map(({ key, request }) => [key, request]));
    const state = await this.#states.seal(await stateful(call, caller), { kind: 'parked', taskId: id });
    return caller.dialect.inputRequired(asked, state);
  }

  /** The caller is back with answers to questions of parked work. */
  async #resume(id: TaskId, call: ToolCall, caller: Caller, request: OpenRequest): Promise<JsonObject> {
    const tree = await this.#requests.tree(id);
    if (!tree) throw new InvalidRequestState('the work that it names is gone');
    request.onTask?.(Promise.resolve(id));
    if (tree.root.phase !== 'done') {
      await this.#requests.keep(id);
      await answerQuestions(this.#requests, tree, call.inputResponses ?? {}, caller);
      // Sent again after it was handed over: nothing that becomes of this request may end the task.
      if (!tree.root.unpublished && request.handOver) return this.#handedOver(tree, request.handOver);
    }
    return this.#attend(id, call, caller, request);
  }

  async #handedOver(known: TaskTree, { caller }: HandOver): Promise<JsonObject> {
    const tree = (await view(this.#requests, caller, known.root.id)) ?? known;
    return caller.dialect.created(tree, this.#requests.now);
  }

  /** The outcome as the plain call would have given it. */
  async #deliver(id: TaskId, caller: Caller, forget: boolean): Promise<JsonObject> {
    const tree = await this.#requests.tree(id);
    if (tree?.root.phase !== 'done')
      throw new CallFailed({
        kind: 'lost',
        message: 'The work was removed before its result could be read.',
      });
    noteRead(this.#requests, tree.root, caller);
    // Not awaited: the answer need not wait for it. A call that was continued may be continued again.
    if (forget) void this.#requests.discard(id).catch(() => {});
    return plain(tree.root.outcome);
  }

  async #abort(id: TaskId, call: ToolCall, caller: Caller): Promise<never> {
    if (hasHandle(call, caller.sender)) throw new RequestAborted();
    await this.#requests.cancel(id, 'The request that this task belonged to has ended.', actorOf(caller));
    throw new RequestAborted();
  }
}

function limitOf({ longestRetentionMs, longestDeadlineMs }: ToolCall) {
  return { longestDeadlineMs, ...(longestRetentionMs !== undefined && { longestRetentionMs }) };
}

const kindOf: Record<RequestMethod, string> = {
  'tools/call': 'tool',
  'resources/read': 'resource',
  'prompts/get': 'prompt',
};

function nameOf(tool: DurableTool): string {
  return 'listedAs' in tool ? String(tool.listedAs) : tool.name;
}

/** A caller with a key comes back with it, whatever became of its request; it needs no id. */
function hasHandle({ tool, idempotencyKey }: ToolCall, { takesTasks }: Caller['sender']): boolean {
  return takesTasks && tool.task !== 'never' && idempotencyKey !== undefined;
}

async function stateful({ tool, input }: ToolCall, { owner }: Caller): Promise<StatefulCall> {
  return { owner, tool: tool.name, argumentsDigest: await digestOf((input ?? {}) as JsonObject) };
}

type BeforeState = Extract<RequestState, { kind: 'before' }>;

/** Those given before, and of the new ones those that were asked for. */
function answersFor(state: BeforeState | undefined, responses: JsonObject = {}): JsonObject {
  // Without a state nothing was asked yet; a caller that knows the questions may answer them all the same.
  const asked = (state?.asked ?? Object.keys(responses)).filter((key) => isJsonObject(responses[key]));
  return { ...state?.answers, ...Object.fromEntries(asked.map((key) => [key, responses[key]!])) };
}

function plain(outcome: Outcome): JsonObject {
  if (outcome.kind !== 'result') throw new CallFailed(outcome);
  return outcome.value as JsonObject;
}

export function errorResult(text: string): JsonObject {
  return { content: [{ type: 'text', text }], isError: true };
}
