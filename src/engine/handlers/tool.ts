import { type Duration, toMs } from '../../model/duration.ts';
import { InvalidOptions } from '../../model/errors.ts';
import type { Json, Jsonify } from '../../model/json.ts';
import { maxVersionLength } from '../../model/name-length.ts';
import type { Failed, Outcome } from '../../model/outcome.ts';
import { type SecretFields, secretFields } from '../../model/redaction.ts';
import { type Retry, type RetryPolicy, retryPolicy } from '../replay/step-retry.ts';
import type { TaskContext } from './context.ts';
import type { PromptResult } from './prompt.ts';
import type { ResourceResult } from './resource.ts';
import type { InputOf, OutputOf, Schema } from './schema.ts';
import { failureOf, outcomeOf, type StructuredResult, type ToolResult } from './tool-result.ts';

/** The requests that can become tasks. */
export type RequestMethod = 'tools/call' | 'resources/read' | 'prompts/get';

/** What tools, resources and prompts may say alike. */
export interface DurableOptions {
  readonly title?: string;
  readonly description?: string;
  /**
   * When a call becomes a task that its caller gets a handle of:
   * `'auto'` (the default) if it is not answered within a short while, or asks something, or starts a subtask;
   * `'always'`; `'never'`; `'required'`: always, and callers that cannot take tasks are refused.
   */
  readonly task?: TaskSetting;
  /** Names the handler's steps and their order. Give a changed handler a new one, and keep the old for its tasks. */
  readonly version?: string;
  /** How long a finished task is kept. Default `'24h'`. */
  readonly retention?: Duration;
  /** When live work is ended, counted from creation. Default `'24h'`. */
  readonly deadline?: Duration | 'none';
  /**
   * Fields that nobody but callers and handlers may see: `'apiKey'`, `'card.number'`, `'items[].token'`. Wherever
   * arguments, answers or results have them, operators are shown `[redacted]`.
   */
  readonly secrets?: readonly string[];
  /** For every step that says nothing else. */
  readonly retry?: Retry;
  /** Tasks of this kind that one worker runs at the same time. */
  readonly concurrency?: number;
  /** How often a pass may take its process with it before the task is given up. Default 5. */
  readonly maxCrashes?: number;
  /**
   * Entries that its journals may have: two for each subtask that is started and awaited, one for each failed attempt at
   * a step. Default 25,000.
   */
  readonly maxJournalEntries?: number;
}

export interface ToolOptions<Input extends Schema | undefined, Output extends Schema | undefined>
  extends DurableOptions {
  /** Hints for clients: `readOnlyHint`, `destructiveHint` and the like. */
  readonly annotations?: ToolAnnotations;
  /**
   * Gathers what is missing before the task is made, from a caller that is still there. What it returns takes the
   * place of the input. Each answer runs it anew from the start, so what else it awaits may happen more than once.
   */
  readonly before?: (
    input: OutputOf<Input>,
    ask: TaskContext['ask'],
  ) => Promise<InputOf<Input> | undefined> | InputOf<Input> | undefined;
  readonly inputSchema?: Input;
  readonly outputSchema?: Output;
  /**
   * Whether a plain call whose connection or process was lost can be joined by the same call, sent again. Default true.
   * Without it, such a call ends with its process.
   */
  readonly joinable?: boolean;
  /** Calling it twice with the same arguments does no harm. */
  readonly idempotent?: boolean;
  /** What a model may be told while the task runs. */
  readonly immediateResponse?: string | ((input: OutputOf<Input>) => string);
}

export type TaskSetting = 'required' | 'always' | 'auto' | 'never';

export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** What a handler may return: the structured output, if there is a schema for it, or a whole result, or a text. */
export type Returned<Output> = Output extends Schema
  ? InputOf<Output> | ToolResult
  : // biome-ignore lint/suspicious/noConfusingVoidType: a handler may return nothing at all.
    ToolResult | string | object | void;

export type Handler<Input, Output> = (input: OutputOf<Input>, task: TaskContext) => Promise<Returned<Output>>;

/** What a task gives in the end, by the request that it was made for. */
export type ResultOf<Method extends RequestMethod, Output> = [Method] extends ['resources/read']
  ? ResourceResult
  : [Method] extends ['prompts/get']
    ? PromptResult
    : Output extends Schema
      ? StructuredResult<Jsonify<InputOf<Output>>>
      : ToolResult;

/** What a handler was asked, for those that shape what it returned. */
export interface HandlerCall {
  readonly input: unknown;
  /** The largest result, in characters of JSON. */
  readonly maxSize: number;
}

/** A tool whose calls become durable tasks; also what the engine knows of a durable resource or prompt. */
export interface DurableTool<
  Input extends Schema | undefined = Schema | undefined,
  Output extends Schema | undefined = Schema | undefined,
  Method extends RequestMethod = RequestMethod,
  Name extends string = string,
> {
  readonly method: Method;
  /** What tasks and workers find each other by: unique among all that is durable. */
  readonly name: Name;
  readonly version: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  readonly task: TaskSetting;
  readonly joinable?: boolean;
  readonly before?: ((input: never, ask: TaskContext['ask']) => unknown) | undefined;
  readonly inputSchema: Input;
  readonly outputSchema: Output;
  readonly retentionMs: number;
  readonly deadlineMs: number | null;
  readonly secrets: SecretFields;
  readonly retry: RetryPolicy;
  readonly idempotent?: boolean;
  readonly immediateResponse?: string | ((input: never) => string) | undefined;
  readonly concurrency: number;
  readonly maxCrashes: number;
  readonly maxJournalEntries: number;
  /** The arguments with which the same call is made once more, where some of them were good for one time only. */
  readonly again?: (input: Json) => Json;
  readonly handler: (input: never, task: TaskContext) => Promise<unknown>;
  /** How a task ends whose handler returned. Throws if it returned nothing that could be a result. */
  readonly outcome: (returned: unknown, asked: HandlerCall) => Promise<Outcome>;
  /** How a task ends whose handler threw. */
  readonly failure: (error: unknown) => Failed;
}

export function durableTool<
  Input extends Schema | undefined = undefined,
  Output extends Schema | undefined = undefined,
  Name extends string = string,
>(
  name: Name,
  options: ToolOptions<Input, Output>,
  handler: Handler<Input, Output>,
): DurableTool<Input, Output, 'tools/call', Name> {
  checkOptions(options);
  const outputSchema = options.outputSchema as Output;
  const shared = durable(options);
  const { secrets } = shared;
  return {
    ...shared,
    method: 'tools/call',
    name: checkedName('tool', name),
    annotations: options.annotations,
    before: options.before,
    joinable: options.joinable ?? true,
    inputSchema: checkedSchema(`inputSchema of ${name}`, options.inputSchema) as Input,
    outputSchema: checkedSchema(`outputSchema of ${name}`, outputSchema),
    idempotent: options.idempotent ?? false,
    immediateResponse: options.immediateResponse,
    handler: checkedHandler(name, handler),
    outcome: (returned, { maxSize: largest }) =>
      outcomeOf(returned, { name, outputSchema, maxSize: largest, secrets }),
    failure: failureOf,
  };
}

export function checkedName<Name extends string>(kind: string, name: Name): Name {
  if (/^[A-Za-z0-9_.-]{1,128}$/.test(name)) return name;
  throw new InvalidOptions(
    'INVALID_TOOL',
    `"${name}" is no name for a ${kind}: use 1 to 128 letters, digits, "_", "-" and ".".`,
  );
}

function checkedVersion(version: string): string {
  if (typeof version === 'string' && version !== '' && version.length <= maxVersionLength) return version;
  throw new InvalidOptions(
    'INVALID_TOOL',
    `${JSON.stringify(version)} is not a version of a tool: use a text of 1 to ${maxVersionLength} characters.`,
  );
}

/** TypeScript says so too; in JavaScript it would only show at the first call. */
export function checkedSchema<S extends Schema | undefined>(what: string, schema: S): S {
  if (schema === undefined || schema?.['~standard']) return schema;
  throw new InvalidOptions(
    'INVALID_TOOL',
    `The ${what} is no schema: give one of a library with Standard Schema, such as z.object({ … }) of zod.`,
  );
}

export function checkedHandler<H>(name: string, handler: H): H {
  if (typeof handler === 'function') return handler;
  throw new InvalidOptions(
    'INVALID_TOOL',
    `There is no handler for ${name}: give a function behind its options.`,
  );
}

type OptionName = keyof ToolOptions<undefined, undefined> | 'argsSchema' | 'uri' | 'mimeType';

const optionNames: Readonly<Record<OptionName, true>> = {
  annotations: true,
  argsSchema: true,
  before: true,
  concurrency: true,
  deadline: true,
  maxCrashes: true,
  description: true,
  idempotent: true,
  immediateResponse: true,
  inputSchema: true,
  joinable: true,
  maxJournalEntries: true,
  mimeType: true,
  outputSchema: true,
  retention: true,
  retry: true,
  secrets: true,
  task: true,
  title: true,
  uri: true,
  version: true,
};

/** In JavaScript a mistyped option would change nothing, and nobody would notice. */
export function checkOptions(options: object): void {
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(optionNames, name));
  if (unknown.length > 0)
    throw new InvalidOptions(
      'INVALID_TOOL',
      `There is no option ${unknown.map((name) => `"${name}"`).join(', ')} here. There are: ${Object.keys(optionNames).join(', ')}.`,
    );
}

/** The options that tools, resources and prompts share, as the engine wants them. */
export function durable(options: DurableOptions) {
  return {
    outputSchema: undefined,
    version: checkedVersion(options.version ?? '1'),
    title: options.title,
    description: options.description,
    task: options.task ?? 'auto',
    retentionMs: toMs(options.retention ?? '24h'),
    deadlineMs: options.deadline === 'none' ? null : toMs(options.deadline ?? '24h'),
    secrets: secretFields(options.secrets),
    retry: retryPolicy(options.retry),
    concurrency: options.concurrency ?? Number.POSITIVE_INFINITY,
    maxCrashes: options.maxCrashes ?? 5,
    maxJournalEntries: options.maxJournalEntries ?? 25_000,
  } as const;
}
