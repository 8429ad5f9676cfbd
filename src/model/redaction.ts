/**
 * Redacts the fields that an author declared secret, for operators, logs and errors that quote a value. Callers and
 * handlers get the original values. Fields are found by path in arguments, answers, results and event values. Texts
 * that contain JSON are redacted like the value; other texts are the author's own words and stay unchanged.
 */
import { InvalidOptions } from './errors.ts';
import type { InputRecord, InputResponse } from './input.ts';
import { isJsonObject, type Json, type JsonObject } from './json.ts';
import type { Outcome } from './outcome.ts';
import type { Task } from './task.ts';

/** Paths of field names, without the `[]` of lists. `'all'` if it is unknown which fields are secret. */
export type SecretFields = readonly (readonly string[])[] | 'all';

function invalidSecret(given: unknown): InvalidOptions {
  return new InvalidOptions(
    'INVALID_SECRET',
    `${JSON.stringify(given) ?? String(given)} is not a path of a secret field. Separate names with ".", and append "[]" to the name of a list, as in "apiKey", "card.number" or "items[].token".`,
  );
}

export const redacted = '[redacted]';

const pathForm = /^[^.[\]\s]+(\[\])*(\.[^.[\]\s]+(\[\])*)*$/;

/** Parses the paths that an author declared, or throws. */
export function secretFields(paths: readonly string[] = []): SecretFields {
  if (!Array.isArray(paths)) throw invalidSecret(paths);
  return paths.map((path) => {
    if (typeof path !== 'string' || !pathForm.test(path)) throw invalidSecret(path);
    return path.replaceAll('[]', '').split('.');
  });
}

/**
 * Hides the secret fields of a value. If the value does not have the shape that a path expects, more is hidden, not
 * less.
 */
export function redactValue(value: Json, fields: SecretFields): Json {
  return fields === 'all' ? redacted : fields.reduce(hideField, value);
}

function hideField(value: Json, [name, ...rest]: readonly string[]): Json {
  if (name === undefined) return redacted;
  if (Array.isArray(value)) return value.map((one: Json) => hideField(one, [name, ...rest]));
  if (value === null) return null;
  if (!isJsonObject(value)) return redacted;
  return mapMembers(value, (part, key) => (key === name ? hideField(part, rest) : part));
}

/** The task as operators see it. Its arguments are in its journal: use `redactValue` for them. */
export function redactTask<T extends Task>(task: T, fields: SecretFields): T {
  if (fields.length === 0) return task;
  const { completions } = task;
  const outcome = 'outcome' in task && { outcome: redactOutcome(task.outcome, fields) };
  const held = 'heldOutcome' in task &&
    task.heldOutcome && { heldOutcome: redactOutcome(task.heldOutcome, fields) };
  return {
    ...task,
    inputs: task.inputs.map((input: InputRecord) =>
      input.state === 'answered' ? { ...input, response: redactResponse(input.response, fields) } : input,
    ),
    ...(completions && { completions: mapMembers(completions, (value) => redactValue(value, fields)) }),
    ...outcome,
    ...held,
  };
}

/** Redacts the value or the error data of an outcome. Messages are texts and stay unchanged. */
export function redactOutcome(outcome: Outcome, fields: SecretFields): Outcome {
  if (outcome.kind === 'result') return { ...outcome, value: redactResult(outcome.value, fields) };
  if (outcome.kind !== 'failure' || outcome.data === undefined) return outcome;
  return { ...outcome, data: redactValue(outcome.data, fields) };
}

/** Redacts the content of an answer, but not its action. */
export function redactResponse(response: InputResponse, fields: SecretFields): InputResponse {
  if (fields !== 'all')
    return mapMembers(response, (part, key) => (key === 'content' ? redactContent(part, fields) : part));
  const { action } = response;
  return { ...(action !== undefined && { action }), content: redacted };
}

/** The members of a result that contain the author's content: for tools, resources and prompts. */
const contentMembers = new Set(['content', 'contents', 'messages']);

function redactResult(result: Json, fields: SecretFields): Json {
  if (fields === 'all') return redacted;
  if (!isJsonObject(result)) return redactValue(result, fields);
  return mapMembers(result, (part, key) => {
    if (key === 'structuredContent') return redactValue(part, fields);
    return contentMembers.has(key) ? redactContent(part, fields) : part;
  });
}

/** Redacts a content block, or another value with content: an answered form, a resource, or a message. */
function redactContent(block: Json, fields: SecretFields): Json {
  if (Array.isArray(block)) return block.map((one: Json) => redactContent(one, fields));
  const value = redactValue(block, fields);
  if (!isJsonObject(value)) return value;
  return mapMembers(value, (part, key) => {
    if (key === 'content' || key === 'resource') return redactContent(part, fields);
    return key === 'text' && typeof part === 'string' ? redactText(part, fields) : part;
  });
}

function redactText(text: string, fields: SecretFields): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(redactValue(JSON.parse(text) as Json, fields));
  } catch {
    return text;
  }
}

/** Whether a message about the value at this path may quote a secret: it is above a secret field, at it, or below. */
export function mayQuoteSecrets(path: readonly PropertyKey[], fields: SecretFields): boolean {
  if (fields === 'all') return true;
  const names = path.filter((part) => !/^\d+$/.test(String(part)));
  return fields.some((field) => field.every((name, n) => n >= names.length || String(names[n]) === name));
}

function mapMembers<T extends JsonObject>(object: T, change: (part: Json, key: string) => Json): T {
  // An assignment to a key named `__proto__` would set the prototype.
  return Object.fromEntries(Object.entries(object).map(([key, part]) => [key, change(part, key)])) as T;
}
