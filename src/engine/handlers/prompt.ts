/** Durable prompts: each `prompts/get` of a durable prompt becomes a task, like a call of a durable tool. */
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

/** Returns a text (which becomes one message with the role `user`), messages, or a complete result. */
export type PromptHandler<Args> = (
  args: OutputOf<Args>,
  task: TaskContext,
) => Promise<string | readonly PromptMessage[] | PromptResult>;

/** A prompt whose every `prompts/get` becomes a durable task. */
export interface DurablePrompt<Args extends Schema | undefined = Schema | undefined>
  extends DurableTool<Args, undefined, 'prompts/get'> {
  /** The author's name for it, shown in lists. `name` is `prompt/` and this: no tool name contains "/". */
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
    outcome: async (returned, { maxSize }) =>
      success(resultOf(toJsonValue(returned, 'The handler', maxSize))),
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
    'The handler did not return a prompt. Return a text, messages with a "role" (user or assistant) and a "content" each, or { messages }.',
  );
}

function isMessages(value: Json | undefined): value is Json[] {
  return Array.isArray(value) && value.every(isMessage);
}

function isMessage(value: Json): boolean {
  if (!isJsonObject(value) || !isJsonObject(value.content)) return false;
  return (value.role === 'user' || value.role === 'assistant') && typeof value.content.type === 'string';
}
