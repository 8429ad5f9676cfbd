/** The `task` object of a handler. Each method makes one call of the pass. */

import type { Duration } from '../../model/duration.ts';
import { InvalidOptions } from '../../model/errors.ts';
import type { Report } from '../../model/event.ts';
import { newTaskId } from '../../model/id.ts';
import type { FormAnswer, InputRequest, RootsAnswer, UrlAnswer } from '../../model/input.ts';
import { isJsonObject, type Json, type Jsonify } from '../../model/json.ts';
import type { SecretFields } from '../../model/redaction.ts';
import type { SamplingAnswer, SamplingRequest } from '../../model/sampling.ts';
import type { InputArguments } from '../../model/schema.ts';
import type { Owner, Task, TaskId } from '../../model/task.ts';
import { cut } from '../../model/thrown.ts';
import type { StepContext } from '../replay/call.ts';
import { toJsonValue } from '../replay/json-value.ts';
import type { Pass } from '../replay/pass.ts';
import { outsideHandlers } from '../replay/pass-context.ts';
import { CannotBeAsked } from '../replay/recorded-error.ts';
import { type Retry, retryPolicy } from '../replay/step-retry.ts';
import type { EngineLimits } from '../rules/limits.ts';
import { checkTaskLimit, defaultMaxValueSize } from '../rules/limits.ts';
import { CallArguments, maxStatusLength } from './call-arguments.ts';
import { childRequest } from './new-task.ts';
import { type OutputOf, parse, type Schema, toJsonSchema } from './schema.ts';
import type { DurableTool, RequestMethod, ResultOf } from './tool.ts';
import type { ToolResult } from './tool-result.ts';

export interface StepOptions {
  readonly retry?: Retry;
  /** The time limit of each attempt. */
  readonly timeout?: Duration;
}

export interface WaitOptions {
  readonly timeout?: Duration;
}

export interface EventOptions<S extends Schema | undefined> extends WaitOptions {
  /** The schema of the value. The sender of an event may be untrusted, such as the sender of a webhook. */
  readonly schema?: S;
}

export interface AskOptions extends WaitOptions {
  /**
   * Asks the client to create a task for the question if it supports that. Then no connection has to stay open: the
   * client may take days to answer and may disconnect in between.
   */
  readonly asTask?: boolean;
}

export interface QuestionOptions extends AskOptions {
  /**
   * Only a person may answer: in the client, the dashboard or the terminal. A model that continues a call with plain
   * tools sees the question but cannot answer it.
   */
  readonly person?: boolean;
}

export interface FormQuestion {
  readonly message: string;
  /** The form: an object of strings, numbers, booleans and choices. */
  readonly schema: Schema;
}

export interface UrlQuestion {
  readonly message: string;
  readonly url: string;
}

export interface SamplingQuestion {
  readonly sampling: SamplingRequest;
}

export interface RootsQuestion {
  readonly roots: true;
}

/** A question to a person (a form or a URL), to the client's model, or to the client itself. */
export type Question = FormQuestion | UrlQuestion | SamplingQuestion | RootsQuestion;

/** The answer to a question. */
export type AnswerTo<Q> = Q extends { readonly schema: infer S }
  ? FormAnswer<OutputOf<S>>
  : Q extends UrlQuestion
    ? UrlAnswer
    : Q extends SamplingQuestion
      ? SamplingAnswer
      : RootsAnswer;

type OptionsFor<Q> = [Q] extends [RootsQuestion]
  ? WaitOptions
  : [Q] extends [SamplingQuestion]
    ? AskOptions
    : QuestionOptions;

/** Rejects unknown members of a question, such as mistyped ones. */
type OnlyKnown<Q> = { readonly [K in Exclude<keyof Q, QuestionMember>]: never };
type QuestionMember = 'message' | 'schema' | 'url' | 'sampling' | 'roots';

export interface Subtask<Result = ToolResult> {
  readonly id: TaskId;
  /** Returns the result of the subtask, including an error result. Throws if it failed, was cancelled or was lost. */
  result(): Promise<Result>;
  cancel(reason?: string): Promise<void>;
}

export interface TaskContext {
  readonly id: TaskId;
  readonly owner: Owner;
  /** The number of this pass: 1 unless the handler was interrupted. */
  readonly pass: number;
  /** Aborted when the task was cancelled or passed its deadline. */
  readonly signal: AbortSignal;

  /**
   * Runs a side effect and records its result: once recorded, it is not run again. The value is converted to JSON and
   * back, so a `Date` becomes a string.
   */
  step<T>(
    name: string,
    run: (context: StepContext) => T | Promise<T>,
    options?: StepOptions,
  ): Promise<Jsonify<T>>;

  /** Asks the caller a question. The wait needs no worker. */
  ask<Q extends Question>(
    key: string,
    question: Q & OnlyKnown<Q>,
    options?: OptionsFor<Q>,
  ): Promise<AnswerTo<Q>>;

  /**
   * Starts a subtask of the same kind: tools start tools, resources start resources, and prompts start prompts.
   * A task whose handler returned is done only after all its subtasks are done.
   */
  start<Input extends Schema | undefined, Output extends Schema | undefined, Method extends RequestMethod>(
    tool: DurableTool<Input, Output, Method>,
    ...input: InputArguments<Input>
  ): Promise<Subtask<ResultOf<Method, Output>>>;

  sleep(duration: Duration): Promise<void>;
  sleepUntil(moment: Date | number): Promise<void>;
  /** The time of the last journal entry that the handler received: the same on every replay. */
  now(): number;

  /** Repeats a check until it returns a value, with a single entry in the journal. */
  waitForCondition<T>(
    name: string,
    check: (context: StepContext) => T | Promise<T>,
    options: { readonly every: Duration; readonly timeout?: Duration },
  ): Promise<Jsonify<Exclude<T, undefined | null | false>>>;
  /** Waits for `tasks.sendEvent(id, name, value)`. With a schema, a value that does not fit throws `InvalidInput`. */
  waitForEvent<S extends Schema | undefined = undefined>(
    name: string,
    options?: EventOptions<S>,
  ): Promise<S extends Schema ? OutputOf<S> : Json>;

  progress(done: number, total?: number, message?: string): void;
  setStatusMessage(statusMessage: string): void;
  setPollInterval(duration: Duration): void;
}

/** All tasks of a tree must have the same type of result, because clients read them all in the same way. */
function subtaskOfAnotherKind(child: DurableTool, parent: DurableTool): InvalidOptions {
  return new InvalidOptions(
    'SUBTASK_OF_ANOTHER_KIND',
    `${parent.name} cannot start ${child.name}: a subtask must have the same type of result as its parent, but ${child.method} and ${parent.method} differ.`,
  );
}

/** The argument checks of each method. */
const checks = {
  step: new CallArguments('task.step()'),
  ask: new CallArguments('task.ask()'),
  start: new CallArguments('task.start()'),
  cancel: new CallArguments('subtask.cancel()'),
  sleep: new CallArguments('task.sleep()'),
  sleepUntil: new CallArguments('task.sleepUntil()'),
  waitForCondition: new CallArguments('task.waitForCondition()'),
  waitForEvent: new CallArguments('task.waitForEvent()'),
  progress: new CallArguments('task.progress()'),
  setStatusMessage: new CallArguments('task.setStatusMessage()'),
  setPollInterval: new CallArguments('task.setPollInterval()'),
};

export interface ContextParts {
  readonly task: Task;
  readonly tool: DurableTool;
  readonly pass: Pass;
  readonly signal: AbortSignal;
  report(report: Report): void;
  cancel(id: TaskId, reason?: string): Promise<void>;
  readonly limits: EngineLimits;
}

export function taskContext(parts: ContextParts): TaskContext {
  const { task, tool, pass, signal, report, cancel, limits } = parts;
  const { maxValueSize } = limits;
  // A replayed pass counts in the same way.
  let subtasks = 0;
  let openQuestions = 0;
  const sendReport = (update: Report) => {
    // The later commit of the report is not part of the handler.
    if (pass.isLive) outsideHandlers(() => report(update));
  };
  const subtask = (id: TaskId, name: string): Subtask => ({
    id,
    result: () => pass.call(id, { kind: 'result', childId: id, tool: name }) as Promise<ToolResult>,
    cancel: async (reason) => {
      const text = reason === undefined ? undefined : status(checks.cancel.text(reason, 'its reason'));
      await pass.call(`cancel ${id}`, { kind: 'step', run: () => cancel(id, text), retry: retryPolicy() });
    },
  });

  const context = {
    id: task.id,
    owner: task.owner,
    pass: task.epoch,
    signal,

    step(name: string, run: (context: StepContext) => unknown, options?: StepOptions) {
      const { step } = checks;
      const purpose = step.read(() => {
        const { retry, timeout } = step.options(options);
        return {
          kind: 'step',
          run: step.work(run, 'its function'),
          retry: retry === undefined || retry === null ? tool.retry : step.retry(retry),
          ...(timeout !== undefined && { timeoutMs: step.duration(timeout, 'timeout') }),
        } as const;
      });
      return pass.call(step.name(name), purpose);
    },

    async ask(key: string, question: Question, options?: QuestionOptions) {
      const { ask } = checks;
      const purpose = ask.read(() => {
        const { timeout, asTask, person } = ask.options(options);
        const asked = inputRequest(ask.name(key, 'a key'), question, maxValueSize);
        if (person && asked.kind !== 'form' && asked.kind !== 'url')
          throw ask.needs('a form or a URL with `person: true`', asked.kind);
        const request = {
          ...asked,
          ...(asTask && { asTask: true as const }),
          ...(person && { person: true as const }),
        };
        return { kind: 'ask', request, ...timeoutOf(ask, timeout) } as const;
      });
      const { request } = purpose;
      const { answers } = task.origin;
      if (answers && !answers.includes(request.kind)) throw new CannotBeAsked(key, request.kind);
      checkTaskLimit(limits, 'maxOpenQuestions', openQuestions, 'Too many questions are open');
      openQuestions++;
      const answer = await pass.call(key, purpose).finally(() => openQuestions--);
      return readAnswer(key, question, answer, tool.secrets);
    },

    async start(definition: DurableTool, ...[input]: readonly unknown[]) {
      const child = checks.start.read(() => checks.start.durable(definition));
      if (child.method !== tool.method) throw subtaskOfAnotherKind(child, tool);
      checkTaskLimit(limits, 'maxDepth', task.depth, 'Subtasks are nested too deeply');
      checkTaskLimit(limits, 'maxSubtasks', subtasks++, 'One task has too many subtasks');
      const request = await childRequest(newTaskId(), child, input, task, maxValueSize);
      const id = (await pass.call(child.name, { kind: 'start', request })) as TaskId;
      return subtask(id, child.name);
    },

    async sleep(duration: Duration) {
      await pass.call('', { kind: 'sleep', ms: checks.sleep.duration(duration, 'duration') });
    },

    async sleepUntil(moment: Date | number) {
      await pass.call('', { kind: 'sleep', until: checks.sleepUntil.moment(moment) });
    },

    now: () => pass.moment,

    waitForCondition(
      name: string,
      run: (context: StepContext) => unknown,
      options: { every: Duration; timeout?: Duration },
    ) {
      const call = checks.waitForCondition;
      const purpose = call.read(() => {
        const { every, timeout } = call.options(options);
        const everyMs = Math.max(1, call.duration(every, 'every'));
        return {
          kind: 'until',
          run: call.work(run, 'its check'),
          everyMs,
          ...timeoutOf(call, timeout),
        } as const;
      });
      return pass.call(call.name(name), purpose);
    },

    async waitForEvent(name: string, options?: EventOptions<Schema | undefined>) {
      const call = checks.waitForEvent;
      const { schema, limit } = call.read(() => {
        const { schema, timeout } = call.options(options);
        return { schema: call.schema(schema), limit: timeoutOf(call, timeout) };
      });
      const value = await pass.call(call.name(name), { kind: 'event', ...limit });
      return schema ? parse(schema, value, `The event "${name}"`, tool.secrets) : value;
    },

    progress(done: number, total?: number, message?: string) {
      const { progress } = checks;
      sendReport({
        progress: {
          done: progress.number(done, 'what is done'),
          ...(total !== undefined && { total: progress.number(total, 'the total') }),
          ...(message !== undefined && { message: status(progress.text(message, 'its message')) }),
        },
      });
    },
    setStatusMessage: (message: string) =>
      sendReport({ message: status(checks.setStatusMessage.text(message, 'its message')) }),
    setPollInterval: (duration: Duration) =>
      sendReport({ pollMs: checks.setPollInterval.duration(duration, 'duration') }),
  };
  return context as unknown as TaskContext;
}

/** Converts a question to its stored form. */
export function inputRequest(
  key: string,
  question: Question,
  maxSize: number = defaultMaxValueSize,
): InputRequest {
  return toJsonValue(requestOf(key, question), `The question "${key}"`, maxSize) as unknown as InputRequest;
}

function requestOf(key: string, question: Question): InputRequest {
  const { ask } = checks;
  const asked = ask.options<Question>(question ?? null, 'its question');
  if ('sampling' in asked)
    return { kind: 'sampling', params: ask.options(asked.sampling ?? null, 'sampling') };
  if ('roots' in asked) return { kind: 'roots' };
  const message = ask.text(asked.message, 'its message');
  if ('url' in asked)
    return { kind: 'url', message, url: ask.text(asked.url, 'its url'), elicitationId: key };
  return { kind: 'form', message, schema: toJsonSchema(asked.schema, `The question "${key}"`) };
}

/** Converts an answer to the form that the handler gets. */
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

function timeoutOf(call: CallArguments, timeout: Duration | undefined): { timeoutMs?: number } {
  return timeout === undefined ? {} : { timeoutMs: call.duration(timeout, 'timeout') };
}

function status(message: string): string {
  return cut(message, maxStatusLength);
}
