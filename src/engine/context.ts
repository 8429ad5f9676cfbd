/** The handler's `task`: every durable thing it can do. Each method is one call of the pass. */
import { type Duration, toMs } from '../model/duration.ts';
import { HoldfastError } from '../model/errors.ts';
import { newId } from '../model/id.ts';
import type { InputRequest } from '../model/input.ts';
import { isJsonObject, type Json, type JsonObject } from '../model/json.ts';
import type { SecretFields } from '../model/redaction.ts';
import type { Owner, Task, TaskId } from '../model/task.ts';
import { type Bounds, defaultBounds, Spread } from './bounds.ts';
import type { StepContext } from './call.ts';
import { childRequest } from './new-task.ts';
import type { Pass } from './pass.ts';
import { outsideHandlers } from './pass-context.ts';
import { CannotBeAsked } from './recorded-error.ts';
import { type Retry, retryPolicy } from './retry.ts';
import { type InputOf, type OutputOf, parse, type Schema, toJsonSchema } from './schema.ts';
import type { DurableTool, RequestMethod, ResultOf } from './tool.ts';
import type { ToolResult } from './tool-result.ts';
import type { Report } from './transitions.ts';

export interface StepOptions {
  readonly retry?: Retry;
  /** Each attempt may take so long. */
  readonly timeout?: Duration;
}

export interface Patience {
  readonly timeout?: Duration;
}

export interface AskPatience extends Patience {
  /**
   * Asks the client to make a task of the question, where it can. Then no connection has to stay open for the answer:
   * the client may take days, and be gone in between.
   */
  readonly asTask?: boolean;
}

export type FormAnswer<Content> =
  | { readonly action: 'accept'; readonly content: Content }
  | { readonly action: 'decline' | 'cancel' };

export interface Subtask<Result = ToolResult> {
  readonly id: TaskId;
  /** The subtask's result, error results included; throws if it failed, was cancelled or was lost. */
  result(): Promise<Result>;
  cancel(reason?: string): Promise<void>;
}

export interface TaskContext {
  readonly id: TaskId;
  readonly owner: Owner;
  /** The number of this pass: 1 unless the handler was interrupted. */
  readonly pass: number;
  /** Fires when the task has been cancelled or has passed its deadline. */
  readonly signal: AbortSignal;

  /** Runs an effect at most once for each entry in the journal. Its value is what JSON gives back. */
  step<T>(name: string, run: (context: StepContext) => T | Promise<T>, options?: StepOptions): Promise<T>;

  /** Puts a question to the requestor, and waits without holding a worker. */
  ask<S extends Schema>(
    key: string,
    question: { readonly message: string; readonly schema: S },
    patience?: AskPatience,
  ): Promise<FormAnswer<OutputOf<S>>>;
  ask(
    key: string,
    question: { readonly message: string; readonly url: string },
    patience?: AskPatience,
  ): Promise<{ readonly action: 'accept' | 'decline' | 'cancel' }>;
  ask(key: string, question: { readonly sampling: JsonObject }, patience?: AskPatience): Promise<ModelAnswer>;
  ask(key: string, question: { readonly roots: true }, patience?: Patience): Promise<RootsAnswer>;

  /**
   * Starts a subtask, of the kind that the task itself is: tools start tools, resources resources, prompts prompts.
   * A task that returns is done only when its subtasks are.
   */
  start<Input extends Schema | undefined, Output extends Schema | undefined, Method extends RequestMethod>(
    tool: DurableTool<Input, Output, Method>,
    ...input: Input extends Schema ? [InputOf<Input>] : []
  ): Promise<Subtask<ResultOf<Method, Output>>>;

  sleep(duration: Duration): Promise<void>;
  sleepUntil(moment: Date | number): Promise<void>;
  /** The time, the same on every replay: that of the last entry the handler has seen. */
  now(): number;

  /** Polls something outside until the check gives a value, with a single entry in the journal. */
  until<T>(
    name: string,
    check: (context: StepContext) => T | Promise<T>,
    options: { readonly every: Duration; readonly timeout?: Duration },
  ): Promise<Exclude<T, undefined | null | false>>;
  /** Waits for `tasks.complete(id, name, value)`. */
  event<T = Json>(name: string, patience?: Patience): Promise<T>;

  progress(done: number, total?: number, message?: string): void;
  say(statusMessage: string): void;
  pollEvery(duration: Duration): void;
}

export interface ModelAnswer {
  readonly role: 'assistant' | 'user';
  readonly model: string;
  readonly content: Json;
  readonly stopReason?: string;
}

export interface RootsAnswer {
  readonly roots: readonly { readonly uri: string; readonly name?: string }[];
}

/** A client that reads the results of a tree reads them all in the same way. */
export class SubtaskOfAnotherKind extends HoldfastError {
  constructor(child: DurableTool, parent: DurableTool) {
    super(
      `${parent.name} cannot start ${child.name}: a subtask must give the same type of result as its parent, and ${child.method} gives another one than ${parent.method}.`,
    );
  }
}

export interface ContextParts {
  readonly task: Task;
  readonly tool: DurableTool;
  readonly pass: Pass;
  readonly signal: AbortSignal;
  report(report: Report): void;
  cancel(id: TaskId, reason?: string): Promise<void>;
  readonly bounds?: Bounds;
}

export function taskContext(parts: ContextParts): TaskContext {
  const { task, tool, pass, signal, report, cancel, bounds = defaultBounds } = parts;
  const spread = new Spread(bounds, task.depth);
  const tell = (what: Report) => {
    // The commit that it leads to, later, is not something that the handler awaits.
    if (pass.isLive) outsideHandlers(() => report(what));
  };
  const subtask = (id: TaskId, name: string): Subtask => ({
    id,
    result: () => pass.call(id, { kind: 'result', childId: id, tool: name }) as Promise<ToolResult>,
    cancel: async (reason) => {
      await pass.call(`cancel ${id}`, { kind: 'step', run: () => cancel(id, reason), retry: retryPolicy() });
    },
  });

  const context = {
    id: task.id,
    owner: task.owner,
    pass: task.epoch,
    signal,

    step(name: string, run: (context: StepContext) => unknown, { retry, timeout }: StepOptions = {}) {
      return pass.call(name, {
        kind: 'step',
        run,
        retry: retry ? retryPolicy(retry) : tool.retry,
        ...(timeout !== undefined && { timeoutMs: toMs(timeout) }),
      });
    },

    async ask(key: string, question: Question, { timeout, asTask }: AskPatience = {}) {
      const request = { ...inputRequest(key, question), ...(asTask && { asTask }) };
      const { answers } = task.origin;
      if (answers && !answers.includes(request.kind)) throw new CannotBeAsked(key, request.kind);
      const answer = await spread.asking(() =>
        pass.call(key, { kind: 'ask', request, ...patience(timeout) }),
      );
      return readAnswer(key, question, answer, tool.secrets);
    },

    async start(child: DurableTool, ...[input]: readonly unknown[]) {
      if (child.method !== tool.method) throw new SubtaskOfAnotherKind(child, tool);
      spread.start();
      const request = await childRequest(newId(), child, input, task);
      const id = (await pass.call(child.name, { kind: 'start', request })) as TaskId;
      return subtask(id, child.name);
    },

    async sleep(duration: Duration) {
      await pass.call('', { kind: 'sleep', ms: toMs(duration) });
    },

    async sleepUntil(moment: Date | number) {
      await pass.call('', { kind: 'sleep', until: Number(moment) });
    },

    now: () => pass.moment,

    until(
      name: string,
      run: (context: StepContext) => unknown,
      options: { every: Duration; timeout?: Duration },
    ) {
      return pass.call(name, {
        kind: 'until',
        run,
        everyMs: toMs(options.every),
        ...patience(options.timeout),
      });
    },

    event(name: string, { timeout }: Patience = {}) {
      return pass.call(name, { kind: 'event', ...patience(timeout) });
    },

    progress(done: number, total?: number, message?: string) {
      tell({
        progress: { done, ...(total !== undefined && { total }), ...(message !== undefined && { message }) },
      });
    },
    say: (message: string) => tell({ message }),
    pollEvery: (duration: Duration) => tell({ pollMs: toMs(duration) }),
  };
  return context as unknown as TaskContext;
}

export type Question =
  | { readonly message: string; readonly schema: Schema }
  | { readonly message: string; readonly url: string }
  | { readonly sampling: JsonObject }
  | { readonly roots: true };

/** The question as it is stored and shown. */
export function inputRequest(key: string, question: Question): InputRequest {
  if ('sampling' in question) return { kind: 'sampling', params: structuredClone(question.sampling) };
  if ('roots' in question) return { kind: 'roots' };
  if ('url' in question)
    return { kind: 'url', message: question.message, url: question.url, elicitationId: key };
  return {
    kind: 'form',
    message: question.message,
    schema: toJsonSchema(question.schema, `The question "${key}"`),
  };
}

/** The answer as the author of the question gets it. */
export async function readAnswer(
  key: string,
  question: Question,
  answer: unknown,
  secrets: SecretFields,
): Promise<unknown> {
  if (!('schema' in question) || !isJsonObject(answer) || answer.action !== 'accept') return answer;
  const content = await parse(question.schema, answer.content, `The answer to "${key}"`, secrets);
  return { ...answer, content };
}

function patience(timeout: Duration | undefined): { timeoutMs?: number } {
  return timeout === undefined ? {} : { timeoutMs: toMs(timeout) };
}
