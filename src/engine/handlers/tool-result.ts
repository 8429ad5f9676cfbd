/** Converts what a handler returned or threw to the outcome of its task. */
import type { Json, JsonObject } from '../../model/json.ts';
import type { Failed, Outcome, Success } from '../../model/outcome.ts';
import type { SecretFields } from '../../model/redaction.ts';
import { isInstance, messageOf } from '../../model/thrown.ts';
import { toJsonValue } from '../replay/json-value.ts';
import { CannotBeAsked, ProtocolError, protocolFault } from '../replay/recorded-error.ts';
import { parse, type Schema } from './schema.ts';

export interface ToolResult<Structured = unknown> {
  readonly content: readonly ({ readonly type: string } & Record<string, unknown>)[];
  readonly structuredContent?: Structured;
  readonly isError?: boolean;
  readonly _meta?: Record<string, unknown>;
}

/** The result of a tool with an output schema. An error result does not have to match the schema. */
export type StructuredResult<Structured> = ToolResult &
  (
    | { readonly isError?: false; readonly structuredContent: Structured }
    | { readonly isError: true; readonly structuredContent?: undefined }
  );

/** What is needed to check the result of a tool. */
interface Expected {
  readonly name: string;
  readonly outputSchema: Schema | undefined;
  /** In characters of JSON. */
  readonly maxSize: number;
  readonly secrets?: SecretFields;
}

/** The outcome for a returned value. Throws if it does not match the output schema. Error results are not checked. */
export async function outcomeOf(
  returned: unknown,
  { name, outputSchema, maxSize: largest, secrets = [] }: Expected,
): Promise<Outcome> {
  const outcome = shaped(toJsonValue(returned, 'The handler', largest), outputSchema !== undefined);
  if (outputSchema && !outcome.isError) {
    const { structuredContent } = outcome.value as { structuredContent?: unknown };
    await parse(outputSchema, structuredContent, `The output of ${name}`, secrets);
  }
  return outcome;
}

/**
 * A complete result is not changed. Undefined becomes an empty result. Any other value becomes a text, and with an
 * output schema also structured content.
 */
function shaped(value: Json | undefined, isStructured: boolean): Extract<Outcome, { kind: 'result' }> {
  if (isToolResult(value))
    return value.isError === true ? { kind: 'result', isError: true, value } : success(value);
  if (value === undefined) return success({ content: [] });
  const content = [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }];
  return success(isStructured ? { content, structuredContent: value } : { content });
}

export function success(value: Json): Success {
  return { kind: 'result', isError: false, value };
}

/**
 * An ordinary exception becomes an error result, as in a plain call. A protocol error stays a protocol error, and an
 * uncaught `CannotBeAsked` becomes one.
 */
export function failureOf(error: unknown): Failed {
  if (isInstance(error, ProtocolError) || isInstance(error, CannotBeAsked)) return protocolFailure(error);
  const text = messageOf(error);
  return { kind: 'result', isError: true, value: { content: [{ type: 'text', text }], isError: true } };
}

/** For requests that have no error results, such as `resources/read`: every thrown value becomes a protocol error. */
export function protocolFailure(error: unknown): Failed {
  if (isInstance(error, ProtocolError)) return { kind: 'failure', ...protocolFault(error) };
  const message = messageOf(error);
  return isInstance(error, CannotBeAsked)
    ? { kind: 'failure', message, unaskable: error.kind }
    : { kind: 'failure', message };
}

/** True for every object with a `content` array. */
export function isToolResult(value: Json | undefined): value is JsonObject & { readonly isError?: boolean } {
  return typeof value === 'object' && value !== null && 'content' in value && Array.isArray(value.content);
}
