/** What a handler returned, as the result of the call. */
import type { Json, JsonObject } from '../model/json.ts';
import type { Failed, Outcome } from '../model/outcome.ts';
import { carried } from './carried.ts';
import { CannotBeAsked, ProtocolError } from './recorded-error.ts';

export interface ToolResult<Structured = unknown> {
  readonly content: readonly ({ readonly type: string } & Record<string, unknown>)[];
  readonly structuredContent?: Structured;
  readonly isError?: boolean;
  readonly _meta?: Record<string, unknown>;
}

/** A string becomes a text; structured output is shown as text too; a whole result is taken as it is. */
export function outcomeOf(returned: unknown, isStructured: boolean, largest: number): Outcome {
  const value = carried(returned, 'The handler', largest);
  if (isToolResult(value)) {
    const { isError } = value;
    return isError === true
      ? { kind: 'result', isError: true, value }
      : { kind: 'result', isError: false, value };
  }
  if (value === undefined) return { kind: 'result', isError: false, value: { content: [] } };
  const content = [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }];
  return {
    kind: 'result',
    isError: false,
    value: isStructured ? { content, structuredContent: value } : { content },
  };
}

/**
 * An ordinary exception ends as the plain call would, as an error result. Protocol errors become such, and so does a
 * question that the requestor cannot be asked, unless the handler finds another way.
 */
export function failureOf(error: unknown): Failed {
  if (error instanceof ProtocolError) {
    const { code, message, data } = error;
    return { kind: 'failure', code, message, ...(data !== undefined && { data }) };
  }
  if (error instanceof CannotBeAsked)
    return { kind: 'failure', message: error.message, unaskable: error.kind };
  const text = error instanceof Error ? error.message : String(error);
  return { kind: 'result', isError: true, value: { content: [{ type: 'text', text }], isError: true } };
}

export function isToolResult(value: Json | undefined): value is JsonObject & { readonly isError?: boolean } {
  return typeof value === 'object' && value !== null && 'content' in value && Array.isArray(value.content);
}
