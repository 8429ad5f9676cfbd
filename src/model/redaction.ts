/**
 * What an author declared secret, hidden from those who look on: operators, logs, errors that quote a value. Callers
 * and handlers get everything as it is. Fields are found by their path in the arguments, in answers, in results and in
 * what events brought; texts are the author's own words and stand, unless they are JSON, which is treated as the value
 * that it spells.
 */
import { InvalidOptions } from './errors.ts';
import type { InputRecord, InputResponse } from './input.ts';
import { isJsonObject, type Json, type JsonObject } from './json.ts';
import type { Outcome } from './outcome.ts';
import type { Task } from './task.ts';

/** Paths of names, without the lists on the way; `'all'` where nobody knows what is secret. */
export type SecretFields = readonly (readonly string[])[] | 'all';

function invalidSecret(given: unknown): InvalidOptions {
  return new InvalidOptions(
    'INVALID_SECRET',
    `${JSON.stringify(given) ?? String(given)} is no path to a secret field: give names with "." between them, and "[]" behind the name of a list, such as "apiKey", "card.number" or "items[].token".`,
  );
}

export const redacted = '[redacted]';

const pathForm = /^[^.[\]\s]+(\[\])*(\.[^.[\]\s]+(\[\])*)*$/;

export function secretFields(paths: readonly string[] = []): SecretFields {
  if (!Array.isArray(paths)) throw invalidSecret(paths);
  return paths.map((path) => {
    if (typeof path !== 'string' || !pathForm.test(path)) throw invalidSecret(path);
    return path.replaceAll('[]', '').split('.');
  });
}

/** A value with nothing secret in it. Where it has not the shape that a path expects, more is hidden rather than less. */
export function redactValue(value: Json, fields: SecretFields): Json {
  return fields === 'all' ? redacted : fields.reduce(hidden, value);
}

function hidden(value: Json, [name, ...rest]: readonly string[]): Json {
  if (name === undefined) return redacted;
  if (Array.isArray(value)) return value.map((one: Json) => hidden(one, [name, ...rest]));
  if (value === null) return null;
  if (!isJsonObject(value)) return redacted;
  return mapped(value, (part, key) => (key === name ? hidden(part, rest) : part));
}

/** A task as those who look on may see it. Its arguments are in its journal: see `redactValue`. */
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
    ...(completions && { completions: mapped(completions, (value) => redactValue(value, fields)) }),
    ...outcome,
    ...held,
  };
}

/** Messages are texts, and stand. */
export function redactOutcome(outcome: Outcome, fields: SecretFields): Outcome {
  if (outcome.kind === 'result') return { ...outcome, value: redactResult(outcome.value, fields) };
  if (outcome.kind !== 'failure' || outcome.data === undefined) return outcome;
  return { ...outcome, data: redactValue(outcome.data, fields) };
}

export function redactResponse(response: InputResponse, fields: SecretFields): InputResponse {
  if (fields !== 'all')
    return mapped(response, (part, key) => (key === 'content' ? shown(part, fields) : part));
  const { action } = response;
  return { ...(action !== undefined && { action }), content: redacted };
}

/** The members of a result that hold what its author returned: for tools, resources and prompts. */
const holdsValues = new Set(['content', 'contents', 'messages']);

function redactResult(result: Json, fields: SecretFields): Json {
  if (fields === 'all') return redacted;
  if (!isJsonObject(result)) return redactValue(result, fields);
  return mapped(result, (part, key) => {
    if (key === 'structuredContent') return redactValue(part, fields);
    return holdsValues.has(key) ? shown(part, fields) : part;
  });
}

/** A block of content, or what stands in the place of one: an answered form, a resource, a message with its content. */
function shown(block: Json, fields: SecretFields): Json {
  if (Array.isArray(block)) return block.map((one: Json) => shown(one, fields));
  const value = redactValue(block, fields);
  if (!isJsonObject(value)) return value;
  return mapped(value, (part, key) => {
    if (key === 'content' || key === 'resource') return shown(part, fields);
    return key === 'text' && typeof part === 'string' ? shownText(part, fields) : part;
  });
}

function shownText(text: string, fields: SecretFields): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(redactValue(JSON.parse(text) as Json, fields));
  } catch {
    return text;
  }
}

/** Whether what is said about this place in a value may quote something secret: above a field, at it, or below. */
export function mayQuoteSecrets(place: readonly PropertyKey[], fields: SecretFields): boolean {
  if (fields === 'all') return true;
  const names = place.filter((part) => !/^\d+$/.test(String(part)));
  return fields.some((field) => field.every((name, n) => n >= names.length || String(names[n]) === name));
}

function mapped<T extends JsonObject>(object: T, change: (part: Json, key: string) => Json): T {
  // Not by assignment, which would make a prototype of a key named `__proto__`.
  return Object.fromEntries(Object.entries(object).map(([key, part]) => [key, change(part, key)])) as T;
}
