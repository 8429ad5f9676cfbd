/**
 * Answers `tools/call` of a durable tool with a task, with the plain result, or first with questions.
 *
 * A caller that takes tasks gets one immediately (`always`, `required`), or as soon as the handler exceeds the window,
 * asks a question or starts a subtask (`auto`). All other callers wait for the result. Their call is a task, too, but
 * an unpublished one: it belongs to the request, and its id is sent only if the call is handed over (`hand-over/`).
 */

import { questionsOf } from '../../dialects/collapse.ts';
import {
  CallFailed,
  cannotBeAsked,
  InvalidParams,
  InvalidRequestState,
  MissingCapability,
} from '../../dialects/errors.ts';
import { inputRequest, type Question, readAnswer, type TaskContext } from '../../engine/handlers/context.ts';
import { parse } from '../../engine/handlers/schema.ts';
import type { DurableTool, RequestMethod } from '../../engine/handlers/tool.ts';
import { InvalidInput } from '../../engine/replay/recorded-error.ts';
import type { TaskService } from '../../engine/task-service.ts';
import type { Tasks } from '../../engine/tasks.ts';
import type { CreateOptions } from '../../engine/tasks-options.ts';
import { answerProblem } from '../../model/answer.ts';
import { hasCode, refusal } from '../../model/errors.ts';
import { digestOf } from '../../model/id.ts';
import type { InputRequest, InputResponse } from '../../model/input.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { Outcome } from '../../model/outcome.ts';
import { newCall, type Origin, type Task, type TaskId } from '../../model/task.ts';
import { runtime } from '../../runtime/runtime.ts';
import { Sealer } from '../../security/sealing.ts';
import { actorOf, noteRead } from '../../task-methods/audit-notes.ts';
import type { Caller } from '../../task-methods/caller.ts';
import { answerQuestions, idOfName, loadTree, visibleTree } from '../../task-methods/task-methods.ts';
import { untilDone, type WaitOptions, waitFor } from '../../task-methods/waiting.ts';
import { joinOf, requestOf } from '../hand-over/joining.ts';
import { waitPlainly } from '../hand-over/waiting.ts';
import { RequestEnds } from './request-ends.ts';
import {
  errorResult,
  type Head,
  type MayJoin,
  type Naming,
  RequestAborted,
  type StartedCall,
  type ToolCall,
} from './tool-call.ts';

/**
 * A call that waits for its task at most `windowMs` (without a limit if undefined), and is then answered with the task.
 */
type WindowedCall = ToolCall & Pick<WaitOptions, 'windowMs' | 'untilStart'>;

interface NewTaskOptions extends CreateOptions {
  /** The kinds of questions that the caller can be asked. Default: those that it declares. */
  readonly answers?: Caller['sender']['answers'] | 'all';
  readonly named?: Origin['named'];
}

/** The author's `before` threw; `cause` is its error. */
class BeforeFailed extends Error {}

export class ToolCalls {
  readonly #tasks: Tasks;
  readonly #requests: TaskService;
  readonly #windowMs: number;
  readonly #ends: RequestEnds;

  constructor(tasks: Tasks, requests: TaskService, windowMs: number, isStopping: () => boolean) {
    this.#ends = new RequestEnds(requests, isStopping);
    this.#tasks = tasks;
    this.#requests = requests;
    this.#windowMs = windowMs;
  }

  /** Resolves when the tasks of all ended requests are cancelled, removed, or left for a repeated call to join. */
  settled(): Promise<void> {
    return this.#ends.settled();
  }

  /** A client cancelled a request of its session. Another process may be serving that request. */
  async cancelled(caller: Caller, requestId: unknown): Promise<void> {
    const request = await requestOf(this.#requests, caller, requestId);
    if (request !== undefined) await this.#ends.cancelledElsewhere(request, caller);
  }

  async call(call: ToolCall): Promise<JsonObject> {
    const { tool, caller } = call;
    if (tool.task === 'required' && !caller.sender.takesTasks && !call.named && !call.handOver)
      throw caller.dialect.tasksRequired(`The ${kindOf[tool.method]} ${nameOf(tool)}`);
    try {
      const state = await this.#openState(call);
      if (state?.kind === 'parked') return await this.#resume(state.taskId, call);
      const prepared = await runBefore(call, state);
      if ('open' in prepared) {
        const asked = [...prepared.open.keys()];
        const answers = answersFor(state, call.inputResponses);
        const requestState = await this.#sealState(call, { kind: 'before', asked, answers });
        return caller.dialect.inputRequired(prepared.open, requestState);
      }
      return await this.#start(call, prepared.input);
    } catch (error) {
      if (error instanceof BeforeFailed) return plainResult(tool.failure(error.cause));
      if (hasCode(error, 'VALUE_TOO_LARGE')) this.#requests.observer.refused('maxValueSize');
      if (hasCode(error, 'VALUE_TOO_LARGE', 'NOT_JSON')) throw new InvalidParams(error.message);
      if (!(error instanceof InvalidInput)) throw error;
      if (tool.method !== 'tools/call') throw new InvalidParams(error.message);
      // Like the SDK's answer to invalid arguments: an error result that the model can read.
      return errorResult(`Input validation error: Invalid arguments for tool ${tool.name}: ${error.message}`);
    }
  }

  // --- With a task ----------------------------------------------------------------------------------------

  /**
   * Starts a call for the fast path, unless it may join a lost call. If the head answers immediately, no task is
   * created.
   */
  async begin(
    { tool, input, head }: Pick<ToolCall, 'tool' | 'input'> & { readonly head: Head },
    caller: Caller,
    signal: AbortSignal,
  ): Promise<StartedCall | MayJoin> {
    caller.limiter?.spend(caller.owner, 'calls');
    const join = await joinOf(this.#requests, tool, input, caller);
    if (join && (await this.#requests.hasUndelivered(join))) return { mayJoin: true };
    return head(caller.owner, signal);
  }

  async #start(call: ToolCall, input: unknown): Promise<JsonObject> {
    const { caller } = call;
    if (!call.started) caller.limiter?.spend(caller.owner, 'calls');
    if (call.named) return this.#startNamed(call, call.named, input);
    const { task: setting } = call.tool;
    const { takesTasks, wantsTask = false } = caller.sender;
    const givesTask = takesTasks && setting !== 'never';
    const atOnce = givesTask && (setting !== 'auto' || wantsTask);
    const windowed: WindowedCall =
      givesTask && !atOnce ? { ...call, windowMs: this.#windowMs, untilStart: true } : call;
    if (!atOnce && !hasHandle(call)) return this.#startUnpublished(windowed, input);
    const creating = this.#create(call, input, {
      ...(hasHandle(call) && { idempotencyKey: call.idempotencyKey! }),
    });
    call.onTask?.(creating.then(({ id }) => id));
    const task = await creating;
    if (!atOnce) return this.#waitAndAnswer(task.id, windowed);
    if (call.signal.aborted) return this.#abort(task.id, call);
    return caller.dialect.created({ root: task, descendants: [] }, this.#requests.now);
  }

  /**
   * The task belongs to the request until its id is sent. No task is created if the head of the call has an outcome.
   */
  async #startUnpublished(given: WindowedCall, input: unknown): Promise<JsonObject> {
    const { caller, handOver, signal, onTask, inSession } = given;
    const ofSession = await requestOf(this.#requests, caller, inSession?.requestId);
    const join = handOver && (await joinOf(this.#requests, given.tool, input, caller, ofSession));
    const call = join ? { ...given, join } : given;
    try {
      const early = call.started && !('mayJoin' in call.started) ? call.started : undefined;
      const joined = join && !early ? await this.#requests.join(join) : undefined;
      if (joined !== undefined) {
        onTask?.(Promise.resolve(joined));
        return await this.#waitAndAnswer(joined, call);
      }
      const started = early ?? (await call.head?.(caller.owner, signal));
      if (started && 'outcome' in started) return plainResult(started.outcome);
      const creating = this.#create(call, started ? started.input : input, {
        unpublished: {
          ...(join ? { join } : ofSession !== undefined && { call: newCall(ofSession) }),
          ...(handOver?.keepMs !== undefined && { keepMs: handOver.keepMs }),
        },
        // A model that continues with plain tools can be asked every kind of question.
        ...(handOver && { answers: 'all' }),
      });
      if (started) creating.catch(() => started.abandon());
      onTask?.(creating.then(({ id }) => id));
      return await this.#waitAndAnswer((await creating).id, call);
    } catch (error) {
      const isHandled = error instanceof RequestAborted || error instanceof CallFailed;
      if (!isHandled) void this.#ends.failed(call).catch(() => {});
      throw error;
    }
  }

  /** Creates the task, or refuses it if a quota is exhausted. */
  #create(call: ToolCall, input: unknown, options: NewTaskOptions): Promise<Task> {
    const { tool, caller, calledAs = tool.name, progress, trace, ttlMs } = call;
    const { maxDeadlineMs, maxRetentionMs } = call;
    const { answers = caller.sender.answers, named, ...others } = options;
    const { owner, dialect, sender, limiter } = caller;
    const givesTask = sender.takesTasks && tool.task !== 'never';
    const create = () =>
      this.#tasks.create(tool, input, {
        owner,
        origin: {
          dialect: dialect.revision,
          method: tool.method,
          ...(calledAs !== tool.name && { calledAs }),
          ...(answers !== 'all' && { answers }),
          ...(progress && { progress }),
          ...(named && { named }),
          ...(trace && { trace }),
        },
        by: actorOf(caller),
        ...(givesTask && ttlMs !== undefined && { ttlMs }),
        maxDeadlineMs,
        maxRetentionMs,
        ...others,
      });
    return limiter ? limiter.createTask(this.#requests, owner, create) : create();
  }

  /** Starts a call of SEP-1686: notifies the caller of its task, and still answers the call with the plain result. */
  async #startNamed(call: ToolCall, naming: Naming, input: unknown): Promise<JsonObject> {
    const { taskId, keepAlive, requestId } = naming;
    const { caller, signal, gone = signal, onProgress, onCreated } = call;
    const { dialect, session = '' } = caller;
    // A second task under a visible name would be ambiguous.
    if (await visibleTree(this.#requests, caller, taskId)) throw refusal('TASK_EXISTS', taskId);
    const root = await this.#create(call, input, {
      id: await idOfName(this.#requests, caller, taskId),
      named: { taskId, session, requestId },
      ...(keepAlive !== undefined && { keepAliveMs: keepAlive }),
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
    const { _meta, ...result } = await this.#deliver(root.id, call, false);
    return { ...result, _meta: dialect.related(tree, isJsonObject(_meta) ? _meta : undefined) };
  }

  /** Waits until the call can be answered, and answers it. */
  async #waitAndAnswer(id: TaskId, call: WindowedCall): Promise<JsonObject> {
    const { handOver, windowMs } = call;
    const waited = handOver
      ? await waitPlainly(this.#requests, id, handOver, { ...call, signal: handOver.gone })
      : await waitFor(this.#requests, id, call);
    if (waited === 'aborted') return this.#abort(id, call);
    if (waited === 'done') return this.#deliver(id, call);
    // Here `waited` is 'asked', 'started' or 'elapsed'. A call without a window cannot be answered with a task, so its
    // caller is asked. A plain client is asked, too, until its call is handed over ('elapsed').
    const isPublished = handOver ? waited === 'elapsed' : windowMs !== undefined;
    return isPublished ? this.#publish(id, call) : this.#park(id, call);
  }

  /** Answers the call with its task, or with the result if the task has ended by now. */
  async #publish(id: TaskId, call: ToolCall): Promise<JsonObject> {
    const { signal, handOver } = call;
    const caller = handOver?.caller ?? call.caller;
    if (signal.aborted) return this.#abort(id, call);
    const isAlive = await this.#requests.publish(id);
    const tree = isAlive ? await loadTree(this.#requests, caller, id) : undefined;
    if (signal.aborted) return this.#abort(id, call);
    if (tree) {
      void this.#ends.handedOver(id, caller, call).catch(() => {});
      return caller.dialect.created(tree, this.#requests.now);
    }
    return this.#deliver(id, call);
  }

  /** Sends the open questions to a caller without tasks. The request state that goes with them names the task. */
  async #park(id: TaskId, call: WindowedCall): Promise<JsonObject> {
    const { caller } = call;
    const tree = await this.#requests.tree(id);
    const open = tree && tree.root.phase !== 'done' ? questionsOf(tree) : [];
    // A question that the client cannot be asked may have opened just now. The next wait hands that call over.
    const questions = call.handOver
      ? open.filter(({ request }) => caller.sender.answers.includes(request.kind))
      : open;
    if (questions.length === 0) return this.#waitAndAnswer(id, call);
    await this.#requests.keep(id, stateLifeMs);
    const asked = new Map(questions.map(({ key, request }) => [key, request]));
    const state = await this.#sealState(call, { kind: 'parked', taskId: id });
    return caller.dialect.inputRequired(asked, state);
  }

  /** The caller sent answers to questions of a parked call. */
  async #resume(id: TaskId, call: ToolCall): Promise<JsonObject> {
    const tree = await this.#requests.tree(id);
    if (!tree) throw new InvalidRequestState('the work that it names no longer exists');
    call.onTask?.(Promise.resolve(id));
    const join = tree.root.unpublished?.join;
    if (tree.root.phase !== 'done') {
      await this.#requests.keep(id);
      await answerQuestions(this.#requests, tree, call.inputResponses ?? {}, call.caller);
      // A published task was handed over. It no longer belongs to a request, so this one does not wait for it.
      if (!tree.root.unpublished && call.handOver) {
        const { caller: plainCaller } = call.handOver;
        const shown = (await loadTree(this.#requests, plainCaller, id)) ?? tree;
        return plainCaller.dialect.created(shown, this.#requests.now);
      }
    }
    return this.#waitAndAnswer(id, { ...call, ...(join && { join }) });
  }

  /** Answers the call with the outcome of its task. `isLast`: no later request needs the task, so it may be removed. */
  async #deliver(id: TaskId, call: ToolCall, isLast = call.requestState === undefined): Promise<JsonObject> {
    const tree = await this.#requests.tree(id);
    if (tree?.root.phase !== 'done')
      throw new CallFailed({
        kind: 'lost',
        message: 'The work was removed before its result could be read.',
      });
    if (tree.root.unpublished?.isCancelled) {
      await call.inSession?.abort();
      throw new RequestAborted();
    }
    noteRead(this.#requests, tree.root, call.caller);
    // Not awaited: it must not delay the answer. A call that was resumed with a request state may be resumed again.
    if (isLast) void this.#ends.answered(id, call).catch(() => {});
    return plainResult(tree.root.outcome);
  }

  async #abort(id: TaskId, call: ToolCall): Promise<never> {
    if (!hasHandle(call)) await this.#ends.aborted(id, call.caller, call);
    throw new RequestAborted();
  }

  // --- Request states -------------------------------------------------------------------------------------

  async #sealState(call: ToolCall, state: RequestState): Promise<string> {
    const sealed = { state, issuedFor: await identityOf(call) } as unknown as JsonObject;
    return (await this.#sealer(call)).seal(sealed, this.#requests.now + stateLifeMs);
  }

  /** Decrypts the request state and checks that it belongs to this call. Undefined if the call has none. */
  async #openState(call: ToolCall): Promise<RequestState | undefined> {
    if (call.requestState === undefined) return undefined;
    const opened = (await this.#sealer(call)).open(call.requestState, this.#requests.now);
    if ('problem' in opened)
      throw new InvalidRequestState(
        opened.problem === 'expired' ? 'it has expired' : 'this server did not issue it',
      );
    const { state, issuedFor } = opened.value as unknown as { state: RequestState; issuedFor: string };
    if (issuedFor !== (await identityOf(call)))
      throw new InvalidRequestState('it belongs to a call with another tool or other arguments');
    return state;
  }

  /** The purpose contains the owner: a state of another owner is rejected as forged, even if it has expired. */
  async #sealer({ caller }: ToolCall): Promise<Sealer> {
    return new Sealer(await this.#requests.secret('request-state'), `request-state of ${caller.owner}`);
  }
}

const kindOf: Record<RequestMethod, string> = {
  'tools/call': 'tool',
  'resources/read': 'resource',
  'prompts/get': 'prompt',
};

function nameOf(tool: DurableTool): string {
  return 'listedAs' in tool ? String(tool.listedAs) : tool.name;
}

/** True if the call has an idempotency key: the caller can always repeat it, so its task outlives the request. */
function hasHandle({ tool, idempotencyKey, caller }: ToolCall): boolean {
  return caller.sender.takesTasks && tool.task !== 'never' && idempotencyKey !== undefined;
}

type BeforeState = Extract<RequestState, { kind: 'before' }>;

/** The answers given so far, and those of the new ones that answer a question sent with the state. */
function answersFor(state: BeforeState | undefined, responses: JsonObject = {}): JsonObject {
  // Without a state nothing was asked yet, but a caller that knows the questions may answer them in advance.
  const asked = (state?.asked ?? Object.keys(responses)).filter((key) => isJsonObject(responses[key]));
  return { ...state?.answers, ...Object.fromEntries(asked.map((key) => [key, responses[key]!])) };
}

function plainResult(outcome: Outcome): JsonObject {
  if (outcome.kind !== 'result') throw new CallFailed(outcome);
  return outcome.value as JsonObject;
}

// --- Questions before a task -------------------------------------------------------------------------------

/** The input of the task, or the questions to ask first. */
type BeforeResult = { readonly input: unknown } | { readonly open: ReadonlyMap<string, InputRequest> };

/**
 * Runs `before(input, ask)` of a tool, which asks the caller questions before there is a task. It runs again with each
 * round of answers. A question without an answer ends the run, and the caller is asked all questions opened so far.
 */
async function runBefore(call: ToolCall, state: BeforeState | undefined): Promise<BeforeResult> {
  const { tool, input, inputResponses } = call;
  const { sender } = call.caller;
  const { before, secrets, inputSchema, name } = tool;
  if (!before) return { input };
  const parsed = inputSchema ? await parse(inputSchema, input ?? {}, `The input of ${name}`, secrets) : input;
  const answers = answersFor(state, inputResponses);
  const open = new Map<string, InputRequest>();
  const { promise: stalled, resolve } = Promise.withResolvers<BeforeResult>();

  const ask = async (key: string, question: Question): Promise<unknown> => {
    const request = inputRequest(key, question);
    if (!sender.answers.includes(request.kind)) throw cannotBeAsked(key, request.kind);
    if (Object.hasOwn(answers, key)) {
      const problem = answerProblem(request, answers[key] as InputResponse);
      if (problem) throw refusal('BAD_ANSWER', key, problem);
      return readAnswer(key, question, answers[key], secrets);
    }
    open.set(key, request);
    // Questions that are asked at the same time go into the same round.
    runtime.setImmediate(() => resolve({ open }));
    // Never settles: `before` starts again when the answers arrive.
    return new Promise(() => {});
  };

  const run = async (): Promise<BeforeResult> => ({
    input: (await before(parsed as never, ask as TaskContext['ask'])) ?? input,
  });
  try {
    return await Promise.race([run(), stalled]);
  } catch (error) {
    if (error instanceof MissingCapability || hasCode(error, 'BAD_ANSWER')) throw error;
    throw new BeforeFailed('', { cause: error });
  }
}

// --- Request states ----------------------------------------------------------------------------------------

/** How long a request state is valid. A parked task is kept for the same time. */
const stateLifeMs = 3_600_000;

/**
 * A caller that must answer questions first gets a sealed request state to send back. The state is bound to the owner,
 * the tool and the arguments, and expires after an hour. It names a parked task, or contains the answers given so far.
 */
type RequestState =
  | { readonly kind: 'parked'; readonly taskId: TaskId }
  /** `asked`: the keys of the questions sent with the state. `answers`: the answers given so far. */
  | { readonly kind: 'before'; readonly asked: readonly string[]; readonly answers: JsonObject };

/** A digest of the tool and the arguments. */
function identityOf({ tool, input }: ToolCall): Promise<string> {
  return digestOf([tool.name, (input ?? {}) as JsonObject]);
}
