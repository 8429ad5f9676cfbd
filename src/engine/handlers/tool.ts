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

/** The request methods that can become tasks. */
export type RequestMethod = 'tools/call' | 'resources/read' | 'prompts/get';

/** The options that tools, resources and prompts share. */
export interface DurableOptions {
  readonly title?: string;
  readonly description?: string;
  /**
   * When a call returns a task instead of its result, to callers that support tasks:
   * - `'auto'` (the default): if the caller asks for a task, or if the call takes longer than a short time, asks a
   *   question or starts a subtask
   * - `'always'`
   * - `'never'`
   * - `'required'`: always, and callers without support for tasks are refused
   */
  readonly task?: TaskSetting;
  /**
   * Identifies the handler's steps and their order. Default `'1'`. If you change them, set a new version, and keep the
   * old handler registered until its tasks have finished.
   */
  readonly version?: string;
  /** How long a finished task is kept. Default `'24h'`. */
  readonly retention?: Duration;
  /** The maximum time from the creation of a task to its end; then it fails. Default `'24h'`. */
  readonly deadline?: Duration | 'none';
  /**
   * Fields that only callers and handlers may see: `'apiKey'`, `'card.number'`, `'items[].token'`. Operators see
   * `[redacted]` in place of them in arguments, answers and results.
   */
  readonly secrets?: readonly string[];
  /** The default for steps without their own retry option. */
  readonly retry?: Retry;
  /** How many of these tasks one worker runs at the same time. By default only the worker's own limit applies. */
  readonly concurrency?: number;
  /**
   * How often in a row a task may crash its process while it runs alone there, without progress in between, before it
   * fails. Default 5.
   */
  readonly maxCrashes?: number;
  /**
   * The maximum number of entries in the journal of a task, which then fails. Each settled call on `task` adds one: a
   * subtask that is started and awaited adds two. Each failed attempt of a step counts as one. Default 25,000.
   */
  readonly maxJournalEntries?: number;
}

export interface ToolOptions<Input extends Schema | undefined, Output extends Schema | undefined>
  extends DurableOptions {
  /** Hints for clients: `readOnlyHint`, `destructiveHint` and the like. */
  readonly annotations?: ToolAnnotations;
  /**
   * Asks the caller for missing input before the task is created. A returned value replaces the input. The function
   * runs from its beginning after each answer, so anything else that it does may happen more than once.
   */
  readonly before?: (
    input: OutputOf<Input>,
    ask: TaskContext['ask'],
  ) => Promise<InputOf<Input> | undefined> | InputOf<Input> | undefined;
  readonly inputSchema?: Input;
  readonly outputSchema?: Output;
  /**
   * Whether a repeated call can join the task of the same plain call after its connection or process was lost. Default
   * true. If false, such a task ends with its process.
   */
  readonly joinable?: boolean;
  /** Whether it is safe to call the tool twice with the same arguments. */
  readonly idempotent?: boolean;
  /** A message that the client may give to its model while the task runs. */
  readonly immediateResponse?: string | ((input: OutputOf<Input>) => string);
}

/** The values of `DurableOptions.task`. */
export type TaskSetting = 'required' | 'always' | 'auto' | 'never';

export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** What a handler may return: the structured output (if there is an output schema), a complete result, or a text. */
export type Returned<Output> = Output extends Schema
  ? InputOf<Output> | ToolResult
  : // biome-ignore lint/suspicious/noConfusingVoidType: a handler may return nothing at all.
    ToolResult | string | object | void;

export type Handler<Input, Output> = (input: OutputOf<Input>, task: TaskContext) => Promise<Returned<Output>>;

/** The result type of a task, by its request method. */
export type ResultOf<Method extends RequestMethod, Output> = [Method] extends ['resources/read']
  ? ResourceResult
  : [Method] extends ['prompts/get']
    ? PromptResult
    : Output extends Schema
      ? StructuredResult<Jsonify<InputOf<Output>>>
      : ToolResult;

/** What `outcome` needs to know about a call. */
export interface HandlerCall {
  /** As parsed by the input schema. */
  readonly input: unknown;
  /** The maximum size of the result, in characters of JSON. */
  readonly maxSize: number;
}

/** A tool whose calls become durable tasks. For the engine, durable resources and prompts are tools, too. */
export interface DurableTool<
  Input extends Schema | undefined = Schema | undefined,
  Output extends Schema | undefined = Schema | undefined,
  Method extends RequestMethod = RequestMethod,
  Name extends string = string,
> {
  readonly method: Method;
  /** Unique among tools, resources and prompts. A task contains it, so that a worker finds the handler. */
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
  /** From the creation of a task; null for no deadline. */
  readonly deadlineMs: number | null;
  readonly secrets: SecretFields;
  readonly retry: RetryPolicy;
  readonly idempotent?: boolean;
  readonly immediateResponse?: string | ((input: never) => string) | undefined;
  /** Infinity without a limit. */
  readonly concurrency: number;
  readonly maxCrashes: number;
  readonly maxJournalEntries: number;
  /** Returns the arguments for a rerun. Needed only if some of the original arguments cannot be used twice. */
  readonly again?: (input: Json) => Json;
  readonly handler: (input: never, task: TaskContext) => Promise<unknown>;
  /** The outcome for a returned value. Throws if the value is not a valid result. */
  readonly outcome: (returned: unknown, asked: HandlerCall) => Promise<Outcome>;
  /** The outcome for a thrown value. */
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
    outcome: (returned, { maxSize }) => outcomeOf(returned, { name, outputSchema, maxSize, secrets }),
    failure: failureOf,
  };
}

export function checkedName<Name extends string>(kind: string, name: Name): Name {
  if (/^[A-Za-z0-9_.-]{1,128}$/.test(name)) return name;
  throw new InvalidOptions(
    'INVALID_TOOL',
    `"${name}" is not a valid name for a ${kind}: use 1 to 128 letters, digits, "_", "-" and ".".`,
  );
}

function checkedVersion(version: string): string {
  if (typeof version === 'string' && version !== '' && version.length <= maxVersionLength) return version;
  throw new InvalidOptions(
    'INVALID_TOOL',
    `${JSON.stringify(version)} is not a valid version of a tool: use a string of 1 to ${maxVersionLength} characters.`,
  );
}

/** TypeScript checks this, too. In JavaScript the error would otherwise appear only at the first call. */
export function checkedSchema<S extends Schema | undefined>(what: string, schema: S): S {
  if (schema === undefined || schema?.['~standard']) return schema;
  throw new InvalidOptions(
    'INVALID_TOOL',
    `The ${what} is not a schema. Pass one from a library with Standard Schema, such as z.object({ … }) of zod.`,
  );
}

export function checkedHandler<H>(name: string, handler: H): H {
  if (typeof handler === 'function') return handler;
  throw new InvalidOptions('INVALID_TOOL', `${name} has no handler: pass a function after the options.`);
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

/** In JavaScript a mistyped option would otherwise be ignored silently. */
export function checkOptions(options: object): void {
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(optionNames, name));
  if (unknown.length > 0)
    throw new InvalidOptions(
      'INVALID_TOOL',
      `Unknown option ${unknown.map((name) => `"${name}"`).join(', ')}. Known options: ${Object.keys(optionNames).join(', ')}.`,
    );
}

/** Converts the options that tools, resources and prompts share, and adds the defaults. */
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
