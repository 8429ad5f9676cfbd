/** Durable prompts: each `prompts/get` of one becomes a task, as each call of a durable tool does. */
import { InvalidValue } from '../../model/errors.ts';
import { isJsonObject, type Json } from '../../model/json.ts';
import { toJsonValue } from '../replay/json-value.ts';
import type { TaskContext } from './context.ts';
import type { OutputOf, Schema } from './schema.ts';
import {
  checkedHandler,
  checkedName,
  checkedSchema,
  checkOptions,
  type DurableOptions,
  type DurableTool,
  durable,
} from './tool.ts';
import { protocolFailure, success } from './tool-result.ts';

export interface PromptOptions<Args extends Schema | undefined> extends DurableOptions {
  readonly argsSchema?: Args;
}

export interface PromptMessage {
  readonly role: 'user' | 'assistant';
  readonly content: { readonly type: string } & Readonly<Record<string, unknown>>;
}

export interface PromptResult {
  readonly messages: readonly PromptMessage[];
  readonly description?: string;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A text, which the user says, or messages with or without the whole result around them. */
export type PromptHandler<Args> = (
  args: OutputOf<Args>,
  task: TaskContext,
) => Promise<string | readonly PromptMessage[] | PromptResult>;

/** A prompt that becomes a durable task whenever it is asked for. */
export interface DurablePrompt<Args extends Schema | undefined = Schema | undefined>
  extends DurableTool<Args, undefined, 'prompts/get'> {
  /** The name that its author gave it, and that lists show. No tool has a "/" in its name, as `name` has here. */
  readonly listedAs: string;
}

export function durablePrompt<Args extends Schema | undefined = undefined>(
  name: string,
  options: PromptOptions<Args>,
  handler: PromptHandler<Args>,
): DurablePrompt<Args> {
  checkOptions(options);
  return {
    ...durable(options),
    method: 'prompts/get',
    name: `prompt/${checkedName('prompt', name)}`,
    listedAs: name,
    inputSchema: checkedSchema(`argsSchema of ${name}`, options.argsSchema) as Args,
    handler: checkedHandler(name, handler),
    outcome: async (returned, { maxSize: largest }) =>
      success(resultOf(toJsonValue(returned, 'The handler', largest))),
    failure: protocolFailure,
  };
}

export function isPrompt(durable: DurableTool): durable is DurablePrompt {
  return durable.method === 'prompts/get';
}

function resultOf(value: Json | undefined): Json {
  if (typeof value === 'string')
    return { messages: [{ role: 'user', content: { type: 'text', text: value } }] };
  if (isMessages(value)) return { messages: value };
  if (isJsonObject(value) && isMessages(value.messages)) return value;
  throw new InvalidValue(
    'INVALID_RESULT',
    'The handler returned no prompt. Return a text, messages with a "role" (user or assistant) and a "content" each, or { messages }.',
  );
}

function isMessages(value: Json | undefined): value is Json[] {
  return Array.isArray(value) && value.every(isMessage);
}

function isMessage(value: Json): boolean {
  if (!isJsonObject(value) || !isJsonObject(value.content)) return false;
  return (value.role === 'user' || value.role === 'assistant') && typeof value.content.type === 'string';
}
